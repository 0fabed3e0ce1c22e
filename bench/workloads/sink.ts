import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { plainFilesIo } from '../../src/engine/files/disk/plain-files-io.ts';
import { Artifacts } from '../../src/session/artifacts/artifacts.ts';
import { OutputSink } from '../../src/session/sink/output-sink.ts';
import { median } from '../figures.ts';
import type { Result, Trial } from './workload.ts';

const CHUNK_BYTES = 64 * 1024;
const TIMES = 3;

/**
 * `size` bytes of output through a sink that spills all of it, and beside it the same bytes written to a file in
 * the same pieces; both end with a sync, and take turns. The artifact is compared with the bytes.
 */
export async function sink({ folder, size }: Trial): Promise<Result> {
  const chunk = toChunk();
  const count = Math.ceil(size / chunk.length);
  await mkdir(folder, { recursive: true });
  const [sunk, plain]: number[][] = [[], []];
  let rssBytes = 0;
  const wanted = createHash('sha256');
  for (let n = 0; n < count; n++) wanted.update(chunk);
  const sum = wanted.digest('hex');
  for (let i = 0; i < TIMES; i++) {
    plain?.push(await writePlain(join(folder, 'plain'), chunk, count));
    const before = process.memoryUsage.rss();
    const { seconds, path, peak } = await writeSunk(folder, chunk, count);
    sunk?.push(seconds);
    rssBytes = Math.max(rssBytes, peak - before);
    if ((await hashFile(path)) !== sum) throw new Error('the artifact is not the output');
    await rm(path);
  }
  const ratios = (sunk ?? []).map((seconds, i) => seconds / (plain?.[i] ?? Number.NaN));
  const seconds = median(sunk ?? []);
  return { ratio: median(ratios), megabytesPerSecond: size / 1e6 / seconds, rssBytes };
}

/** Lines as programs print them, with a colour here and there; already as a sink leaves them but for that. */
function toChunk(): Buffer {
  const line =
    'src/engine/files/journal.ts:120:7 – warning: a frame of 4096 bytes, synced in 1.2 ms\n';
  return Buffer.from(line.repeat(Math.ceil(CHUNK_BYTES / line.length)));
}

async function writePlain(path: string, chunk: Buffer, count: number): Promise<number> {
  const start = performance.now();
  const file = await open(path, 'w');
  for (let n = 0; n < count; n++) await file.write(chunk);
  await file.sync();
  await file.close();
  const seconds = (performance.now() - start) / 1000;
  await rm(path);
  return seconds;
}

async function writeSunk(
  folder: string,
  chunk: Buffer,
  count: number,
): Promise<{ seconds: number; path: string; peak: number }> {
  const artifacts = new Artifacts(plainFilesIo, join(folder, 'artifacts'));
  let peak = 0;
  const start = performance.now();
  const output = new OutputSink({ artifact: () => artifacts.openDraft('bench') });
  for (let n = 0; n < count; n++) {
    await output.push(chunk);
    if (n % 256 === 0) peak = Math.max(peak, process.memoryUsage.rss());
  }
  const { artifactId } = await output.dump();
  const seconds = (performance.now() - start) / 1000;
  return { seconds, path: join(artifacts.folder, `${artifactId}.bench.log`), peak };
}

async function hashFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of createReadStream(path)) hash.update(piece as Buffer);
  return hash.digest('hex');
}
