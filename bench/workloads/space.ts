import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { openStore } from '../../src/index.ts';
import { openHistory } from '../drivers/open-driver.ts';
import { Payloads } from '../payloads.ts';
import { SeededRandom } from '../../src/testing/disk/seeded-random.ts';
import type { Result, Trial } from './workload.ts';

const FORKS = 10;
const FORK_TURNS = 5;
const PIECE_BYTES = 1024 * 1024;

/** `size` sessions of `from` turns, each forked 10 times somewhere in its second half, for 5 turns more. */
export async function sessions(trial: Trial): Promise<Result> {
  const history = await openHistory(trial.driver, trial.folder, { sync: false });
  const payloads = new Payloads(trial.payloadBytes);
  const random = new SeededRandom(11);
  const half = (trial.from ?? 0) / 2;
  for (let i = 0; i < trial.size; i++) {
    const session = await history.create();
    await history.fill(session, payloads.take(2 * half));
    for (let j = 0; j < FORKS; j++) {
      const depth = half + random.below(half);
      const branch = await history.fork(await history.turnAt(session, depth));
      await history.fill(branch, payloads.take(FORK_TURNS));
    }
  }
  await history.close();
  return { diskBytes: bytesUnder(trial.folder) };
}

/** Everything the file system has allotted, also what lies ready and is still empty. */
export function bytesUnder(folder: string, named: RegExp = /^/): number {
  let bytes = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (!named.test(entry.name)) continue;
    const path = join(folder, entry.name);
    const stat = statSync(path);
    bytes += entry.isDirectory() ? bytesUnder(path) : Math.max(stat.size, stat.blocks * 512);
  }
  return bytes;
}

/** A blob of `size` bytes from a stream into the store and back. */
export async function blob(trial: Trial): Promise<Result> {
  const store = await openStore(trial.folder);
  const start = performance.now();
  const { hash, size } = await store.blobs.put(pieces(trial));
  const putSeconds = (performance.now() - start) / 1000;
  let bytes = 0;
  const back = performance.now();
  for await (const piece of store.blobs.stream(hash)) bytes += piece.length;
  const streamSeconds = (performance.now() - back) / 1000;
  await store.close();
  if (bytes !== trial.size || size !== trial.size) throw new Error(`${bytes} bytes came back`);
  return { putSeconds, streamSeconds, rssBytes: process.resourceUsage().maxRSS * 1024 };
}

/** Text that nothing repeats exactly, made as fast as it is read. */
async function* pieces({ size, payloadBytes }: Trial): AsyncGenerator<Uint8Array> {
  const payloads = new Payloads(payloadBytes);
  for (let left = size; left > 0;) {
    const piece = Buffer.concat([...payloads.take(Math.ceil(PIECE_BYTES / payloadBytes))]);
    yield piece.subarray(0, Math.min(left, piece.length));
    left -= Math.min(left, piece.length);
  }
}
