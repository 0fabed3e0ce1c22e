import { given } from '../../base/given.ts';
import { invalid, notFound } from '../../base/errors.ts';
import type { BlobInfo } from '../../store/blobs.ts';
import type { Store } from '../../store/store.ts';
import type { QuipuShell, QuipuVerb } from '../kit/command.ts';
import { quipuVerb, startProgress, toHash } from '../kit/command.ts';
import { stillUsed } from './erasure.ts';
import { readInput, toFileError } from '../kit/input.ts';
import { OUT_OPTIONS, openOutput } from '../kit/output.ts';
import { parseCount } from '../kit/parse.ts';
import { toFacts, toSize } from '../kit/text.ts';
import { findBlob } from './short-hash.ts';
import { argument, option, preset, required, type ArgumentOf } from '../kit/verb.ts';
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';

interface PutGiven {
  readonly sha256?: boolean;
}

const create = quipuVerb({
  name: 'create',
  aliases: ['put'],
  summary: 'Store a file of any size and print its BLAKE3 hash.',
  examples: [
    'hash=$(quipu blob create build.log)',
    'tar c src | quipu blob create - --sha256 --json',
  ],
  takes: [
    argument('<file>', 'the file, or - for standard input'),
    option('--sha256', 'also find it as blob:sha256:<hex>'),
  ],
  async give(io, path, options) {
    const { shell } = io;
    const total = path === '-' ? 0 : await sizeOf(resolve(shell.cwd, path), path);
    const store = await io.createStore();
    return putWatched(store, readInput(shell, path), { ...options, total, shell });
  },
  show: toHash,
});

/** Called before the store is opened, so that a wrong name leaves no empty store behind. */
async function sizeOf(path: string, given: string): Promise<number> {
  const found = await stat(path).catch((error: unknown) => {
    throw toFileError(error, given);
  });
  if (found.isDirectory()) throw invalid('file', `${given} is a directory`);
  return found.size;
}

interface Watch extends PutGiven {
  readonly total: number;
  readonly shell: QuipuShell;
}

async function putWatched(
  store: Store,
  source: AsyncIterable<Uint8Array>,
  { total, shell, sha256 = false }: Watch,
): Promise<BlobInfo> {
  const progress = startProgress(shell);
  async function* counted(): AsyncIterable<Uint8Array> {
    let done = 0;
    for await (const piece of source) {
      yield piece;
      done += piece.length;
      progress.report(done, total, toSize(done));
    }
  }
  try {
    return await store.blobs.put(counted(), { sha256 });
  } finally {
    progress.end();
  }
}

/** Each command needs its own copy. */
function blobArgument(): ArgumentOf<string> {
  return argument('<blob>', 'the hash or the beginning of it, b3:<hash> or blob:sha256:<hex>');
}

const get = quipuVerb({
  name: 'get',
  summary: "Print a blob's bytes, checked against its hash.",
  examples: [
    'quipu blob get $hash > build.log',
    'quipu blob get blob:sha256:$sum --out copy.log',
    'quipu blob get $hash --start 0 --end 100',
  ],
  takes: [
    blobArgument(),
    ...OUT_OPTIONS,
    option('--start <n>', 'first byte (default: 0)', parseCount),
    option('--end <n>', 'byte to stop before (default: the end)', parseCount),
  ],
  async run(io, ref, options) {
    const { start, end } = options;
    const store = await io.openStore();
    await using output = await openOutput(io.shell, options);
    const pieces = store.blobs.stream(await findBlob(store, ref), given({ start, end }));
    for await (const piece of pieces) await output.write(piece);
    await output.complete();
  },
});

const list = quipuVerb({
  name: 'list',
  summary: 'List blobs by hash, with their sizes.',
  more: 'The order is that of the hashes. Payloads of turns are blobs, too, and so are the chunks of a large blob in a folder.',
  examples: ['quipu blob list', 'quipu blob list --prefix 6437b3 --json'],
  takes: [
    preset('-n, --limit <n>', 'how many at most', parseCount, 50),
    option('--prefix <hex>', 'only hashes that begin with this'),
    option('--cursor <hash>', 'continue where the previous page ended'),
  ],
  async list(io, options) {
    const { blobs } = await io.openStore();
    const { items, cursor } = await blobs.list(options);
    const stats = await Promise.all(items.map((hash) => blobs.stat(hash)));
    // A blob may be removed between the two questions.
    return { items: stats.filter((stat) => stat !== undefined), cursor };
  },
  columns: [
    ['BLOB', ({ hash }) => hash],
    ['SIZE', ({ size }) => toSize(size), 'right'],
    ['STORED', ({ storedSize }) => toSize(storedSize), 'right'],
  ],
});

const show = quipuVerb({
  name: 'show',
  aliases: ['stat'],
  summary: 'Show the size of a blob and what it takes in the store.',
  examples: ['quipu blob show $hash', 'quipu blob show blob:sha256:$sum --json'],
  takes: [blobArgument()],
  async give(io, ref) {
    const store = await io.openStore();
    const found = await store.blobs.stat(await findBlob(store, ref));
    if (found === undefined) throw notFound('blob', ref);
    return found;
  },
  show: ({ hash, size, storedSize, chunks }) =>
    toFacts([
      ['hash', hash],
      ['size', toSize(size)],
      ['stored', toSize(storedSize)],
      ['chunks', chunks === 0 ? 'none' : String(chunks)],
    ]),
});

const rm = quipuVerb({
  name: 'rm',
  aliases: ['erase'],
  summary: 'Remove the bytes of a blob for good.',
  examples: [
    'quipu blob rm $hash --reason "personal data"',
    'quipu blob rm $hash --reason "personal data" --everywhere',
  ],
  takes: [
    blobArgument(),
    required('--reason <text>', 'why; shown in place of the payloads it was'),
    option('--everywhere', 'also when turns use it; each of them gets a tombstone'),
  ],
  async run(io, ref, options) {
    const { reason, everywhere = false } = options;
    const store = await io.openStore();
    const report = await store.blobs.erase(await findBlob(store, ref), { reason, everywhere });
    if (io.json) await io.printJson(report);
    else if (report.erased) await io.shell.out(toHash(report));
    if (!report.erased) throw stillUsed([report]);
  },
});

export const blobVerbs: readonly QuipuVerb[] = [create, list, get, show, rm];
