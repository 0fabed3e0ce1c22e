import { readdirSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { decompress } from '../../src/base/compress.ts';
import { hashRaw } from '../../src/base/hash.ts';
import { BLOB_HEADER_BYTES, BLOB_OVERHEAD_BYTES, BlobCodec } from '../../src/format/blob-record.ts';
import { OPEN_FILE_HEADER_BYTES } from '../../src/format/file-header.ts';
import { Quipu } from '../drivers/quipu.ts';
import { cpuSecondsSince, median } from '../figures.ts';
import { MIXES } from '../mixes.ts';
import type { Result, Trial } from './workload.ts';

const PIECE_BYTES = 1024 * 1024;
const TIMES = 5;

/** About `size` bytes of payload of one kind, a turn each. Nothing waits for the disk. */
export async function fillMix({ folder, size, mix = 'json' }: Trial): Promise<Result> {
  const quipu = await Quipu.open(folder, { sync: false });
  await quipu.fill(await quipu.create(), MIXES[mix].payloads(size));
  await quipu.close();
  return {};
}

/**
 * A check of the whole store, and beside it the least that a check can do: read every pack from end to end,
 * unpack what is compressed, and hash it. By the time that the processor spends, which others on the
 * machine change little; both take turns, and nothing is read from the disk but the first time.
 */
export async function verify({ folder }: Trial): Promise<Result> {
  const quipu = await Quipu.open(folder);
  const [least, taken, wall]: number[][] = [[], [], []];
  let bytes = 0;
  for (let i = 0; i < TIMES; i++) {
    const before = process.cpuUsage();
    bytes = await readAndHash(join(folder, 'blobs'));
    least?.push(cpuSecondsSince(before));
    const start = process.cpuUsage();
    const startMs = performance.now();
    const { ok } = await quipu.store.maintain.verify();
    wall?.push((performance.now() - startMs) / 1000);
    taken?.push(cpuSecondsSince(start));
    if (!ok) throw new Error('the store is damaged');
  }
  await quipu.close();
  const shares = (taken ?? []).map((seconds, i) => (least?.[i] ?? Number.NaN) / seconds);
  return {
    bytes,
    share: median(shares),
    cpuSeconds: median(taken ?? []),
    seconds: median(wall ?? []),
  };
}

/** The bytes of content that were hashed. */
async function readAndHash(folder: string): Promise<number> {
  let bytes = 0;
  for (const name of readdirSync(folder).filter((file) => file.endsWith('.pack'))) {
    const file = await open(join(folder, name));
    try {
      bytes += await hashPack(file);
    } finally {
      await file.close();
    }
  }
  return bytes;
}

async function hashPack(file: FileHandle): Promise<number> {
  let hashed = 0;
  let at = OPEN_FILE_HEADER_BYTES;
  const buffer = Buffer.allocUnsafeSlow(2 * PIECE_BYTES);
  for (;;) {
    const { bytesRead } = await file.read(buffer, 0, buffer.length, at);
    const piece = buffer.subarray(0, bytesRead);
    let next = 0;
    for (;;) {
      const record = recordAt(piece, next);
      if (record === undefined) break;
      hashed += record.hashed;
      next += record.length;
    }
    if (next === 0) return hashed;
    at += next;
  }
}

/** Undefined when there is no whole record; what lies behind the last one is the end of the pack. */
function recordAt(piece: Buffer, at: number): { length: number; hashed: number } | undefined {
  if (piece.length - at < BLOB_OVERHEAD_BYTES || piece[at] !== 0x42) return undefined;
  const codec = piece.readUInt16LE(at + 6);
  const rawLength = piece.readUInt32LE(at + 8);
  const length = BLOB_OVERHEAD_BYTES + piece.readUInt32LE(at + 12);
  if (at + length > piece.length) return undefined;
  const start = at + BLOB_HEADER_BYTES;
  const stored = piece.subarray(start, at + length - 4);
  const raw = codec === BlobCodec.zstd ? decompress(stored, rawLength) : stored;
  hashRaw(raw);
  return { length, hashed: raw.length };
}
