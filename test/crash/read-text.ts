import { hashBytes, sha256Hex } from '../../src/base/hash.ts';
import type { BlobPut } from '../../src/engine/batch.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { readAll } from '../../src/testing/engine-suite/read-all.ts';

/** Blobs that no turn names, also found by their SHA-256; the last one is stored in chunks. */
export const LOOSE_BLOBS: readonly (BlobPut & { readonly sha256: string })[] = [
  looseBlob('loose'),
  looseBlob('more of it '.repeat(30)),
  looseBlob('a large one: '.repeat(21_000)),
];

/** Everything that reads can tell of a store, as one text: equal stores have equal texts. */
export async function readText(engine: Engine): Promise<string> {
  const everything = await readAll(engine);
  const loose: unknown[] = [];
  for (const { hash, sha256 } of LOOSE_BLOBS) {
    const bytes = await engine.getBlob(hash);
    const right = bytes === undefined ? undefined : hashBytes(bytes) === hash;
    loose.push([right, await engine.findBySha256(sha256)]);
  }
  return JSON.stringify({ ...everything, loose }, (_, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  );
}

function looseBlob(text: string): BlobPut & { readonly sha256: string } {
  const bytes = new TextEncoder().encode(text);
  return { hash: hashBytes(bytes), bytes, sha256: sha256Hex(bytes) };
}
