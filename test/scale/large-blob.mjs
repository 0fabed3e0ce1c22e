// Puts a blob of the size given from a stream, reads it back, and says how much memory that took.
import { createHash } from 'node:crypto';
import { openStore } from '../../dist/index.js';
import { peakBytes } from '../support/peak-memory.mjs';

const PIECE_BYTES = 1024 * 1024;
const [, , folder, size] = process.argv;
const sent = createHash('sha256');
const received = createHash('sha256');

/** Neither random nor repeating: numbers written out, a different stretch of them in each piece. */
async function* pieces() {
  const piece = Buffer.alloc(PIECE_BYTES);
  for (let at = 0; at < Number(size); at += PIECE_BYTES) {
    for (let i = 0; i < PIECE_BYTES; i += 16)
      piece.write(`${(at + i) * 2_654_435_761}`.padEnd(16), i, 'latin1');
    sent.update(piece);
    yield Buffer.from(piece);
  }
}

const store = await openStore(folder);
const { hash, size: stored } = await store.blobs.put(pieces());
for await (const piece of store.blobs.stream(hash)) received.update(piece);
await store.close();
const same = sent.digest('hex') === received.digest('hex') ? 1 : 0;
process.stdout.write(JSON.stringify({ same, stored, peakRssBytes: peakBytes() }));
