import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { invalid } from '../../base/errors.ts';
import type { BlobInfo } from '../../store/blobs.ts';
import type { Store } from '../../store/store.ts';
import { defineCommand, withIo } from '../command.ts';
import { readInput, toFileError } from '../input.ts';
import { startProgress } from '../progress-line.ts';
import { toSize } from '../quantity.ts';
import type { World } from '../world.ts';

interface Options {
  readonly sha256?: boolean;
}

export function blobPut(world: World): Command {
  return defineCommand('put', 'Store a file of any size and print its BLAKE3 hash.', [
    'hash=$(quipu blob put build.log)',
    'tar c src | quipu blob put - --sha256 --json',
  ])
    .argument('<file>', 'the file, or - for standard input')
    .option('--sha256', 'also find it as blob:sha256:<hex>')
    .action(
      withIo(world, async (io, path: string, options: Options) => {
        const total = path === '-' ? 0 : await sizeOf(resolve(world.cwd, path), path);
        await using store = await io.createStore();
        const source = readInput(world, path);
        const info = await putWatched(store, source, { ...options, total, world });
        await (io.json ? io.printJson(info) : world.out(`${info.hash}\n`));
      }),
    );
}

/** Asked before the store is opened, so that a wrong name leaves no empty store behind. */
async function sizeOf(path: string, given: string): Promise<number> {
  const found = await stat(path).catch((error: unknown) => {
    throw toFileError(error, given);
  });
  if (found.isDirectory()) throw invalid('file', `${given} is a directory`);
  return found.size;
}

interface Watch extends Options {
  readonly total: number;
  readonly world: World;
}

async function putWatched(
  store: Store,
  source: AsyncIterable<Uint8Array>,
  { total, world, sha256 = false }: Watch,
): Promise<BlobInfo> {
  const progress = startProgress(world);
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
