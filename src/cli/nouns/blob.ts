import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { given } from '../../base/given.ts';
import { invalid, locked, notFound, type QuipuError } from '../../base/errors.ts';
import type { TurnId } from '../../base/brand.ts';
import type { Progress } from '../../engine/engine.ts';
import type { EraseReport } from '../../engine/upkeep.ts';
import { quipuVerb, toHash, withProgress, type QuipuVerb } from '../kit/command.ts';
import { readInput, toFileError, OUT_OPTIONS, openOutput } from '../kit/files.ts';
import { parseCount } from '../kit/parse.ts';
import { toFacts, toSize } from '../kit/text.ts';
import { findBlob } from './short-hash.ts';
import { argument, option, preset, required, type ArgumentOf } from '../kit/verb.ts';

export const blobVerbs: readonly QuipuVerb[] = [
  quipuVerb({
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
    async give(io, path, { sha256 = false }) {
      const { shell } = io;
      const total = path === '-' ? 0 : await sizeOf(resolve(shell.cwd, path), path);
      const { blobs } = await io.createStore();
      return withProgress(shell, (report) =>
        blobs.put(counted(readInput(shell, path), total, report), { sha256 }),
      );
    },
    show: toHash,
  }),
  quipuVerb({
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
  }),
  quipuVerb({
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
  }),
  quipuVerb({
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
  }),
  quipuVerb({
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
  }),
];

/** Called before the store is opened, so that a wrong name leaves no empty store behind. */
async function sizeOf(path: string, given: string): Promise<number> {
  const found = await stat(path).catch((error: unknown) => {
    throw toFileError(error, given);
  });
  if (found.isDirectory()) throw invalid('file', `${given} is a directory`);
  return found.size;
}

async function* counted(
  source: AsyncIterable<Uint8Array>,
  total: number,
  report: Progress,
): AsyncIterable<Uint8Array> {
  let done = 0;
  for await (const piece of source) {
    yield piece;
    done += piece.length;
    report(done, total, toSize(done));
  }
}

/** Each command needs its own copy. */
function blobArgument(): ArgumentOf<string> {
  return argument('<blob>', 'the hash or the beginning of it, b3:<hash> or blob:sha256:<hex>');
}

const NOUNS: Readonly<Record<string, string>> = {
  chats: 'chat',
  workflows: 'workflow',
  sessions: 'session',
};

/** The error of a command that erased nothing, because other turns need the bytes. */
export function stillUsed(reports: readonly EraseReport[], own?: TurnId): QuipuError<'LOCKED'> {
  const turns = new Set(reports.flatMap(({ usedBy }) => usedBy));
  if (own !== undefined) turns.delete(own);
  const listed = [
    ...(turns.size === 0 ? [] : [`turns ${toSorted(turns).join(', ')}`]),
    ...new Set(
      reports.flatMap(({ neededBy }) => neededBy.map(({ kind, id }) => `${NOUNS[kind]} ${id}`)),
    ),
  ].join(', ');
  return locked(
    'blob',
    listed,
    `nothing was erased, because the same bytes are used by ${listed}; erase them all with --everywhere`,
  );
}

function toSorted(turns: Iterable<TurnId>): TurnId[] {
  return [...turns].toSorted((a, b) => (a < b ? -1 : 1));
}
