import { describe, expect, it } from 'vitest';
import { hashBytes } from '../../../base/hash.ts';
import { encodeBlobRecord, encodePackEnd } from '../../../format/blob-record.ts';
import { MemoryIo } from '../../../testing/disk/memory-io.ts';
import { packFile, type PackItem, encodePackHeader } from './pack-file.ts';
import { StoreFiles } from '../disk/store-files.ts';
import { streamPack } from './walk-pack.ts';

function packOf(sizes: readonly number[]): { bytes: Buffer; starts: number[] } {
  const parts: Uint8Array[] = [encodePackHeader(1, 0)];
  const starts: number[] = [];
  let length = 32;
  for (const [at, size] of sizes.entries()) {
    const stored = new Uint8Array(size).fill(at);
    const record = encodeBlobRecord({ codec: 0, rawLength: size, hash: hashBytes(stored), stored });
    starts.push(length);
    parts.push(record);
    length += record.length;
  }
  parts.push(encodePackEnd({ count: sizes.length, length }));
  return { bytes: Buffer.concat(parts), starts };
}

async function stream(bytes: Uint8Array): Promise<{ done: number; starts: number[] }> {
  const io = new MemoryIo();
  await io.mkdir('/s');
  await io.mkdir('/s/blobs');
  const file = await io.open(`/s/${packFile(1)}`, 'create');
  await file.write(bytes, 0);
  const items: PackItem[] = [];
  const pack = { number: 1, length: bytes.length };
  const done = await streamPack(new StoreFiles(io, '/s'), pack, (item) => void items.push(item));
  return { done, starts: items.flatMap((item) => (item.kind === 'blob' ? item.offset : [])) };
}

describe('streaming a pack', () => {
  it('sees every record, whatever the pieces cut', async () => {
    const sizes = Array.from({ length: 60 }, (_, n) => (n * 7919) % 130_000);
    const { bytes, starts } = packOf(sizes);
    expect(bytes.length).toBeGreaterThan(3 * 1024 * 1024);
    expect(await stream(bytes)).toEqual({ done: bytes.length, starts });
  });

  it('stops before a record that is damaged', async () => {
    const { bytes, starts } = packOf(Array.from({ length: 40 }, () => 90_000));
    const at = starts[25] ?? 0;
    bytes[at + 70_000] = 1;
    expect(await stream(bytes)).toEqual({ done: at, starts: starts.slice(0, 25) });
  });

  it('stops before a record that is too long to carry', async () => {
    const { bytes, starts } = packOf([10, 3_000_000, 10]);
    expect(await stream(bytes)).toEqual({ done: starts[1], starts: starts.slice(0, 1) });
  });
});
