// Appends with 64 writers at once until it is killed. Run: node kill-9-worker.mjs <folder> <first numbers>
// where the numbers, as JSON, say for each writer which of its turns it has to append next.
import { writeSync } from 'node:fs';
import { hashBytes } from '../../dist/base/hash.js';
import { openFilesEngine } from '../../dist/engine/files/open-files-engine.js';

const [folder, numbers] = process.argv.slice(2);
const CONTEXTS = 8;

const engine = await openFilesEngine(folder, { segmentBytes: 256 * 1024, checkpointMs: 50 });
if ((await engine.getHead(1n)) === undefined) {
  const create = { do: 'create' };
  await engine.commit({ contexts: Array.from({ length: CONTEXTS }, () => create) });
}
await Promise.all(JSON.parse(numbers).map((first, writer) => append(writer, first)));

async function append(writer, first) {
  const context = BigInt(1 + (writer % CONTEXTS));
  for (let number = first; ; number += 1) {
    const key = `${writer}-${number}`;
    const bytes = new TextEncoder().encode(key);
    const payload = hashBytes(bytes);
    const about = { type: 'kill', version: 1, encoding: 3, payload, size: bytes.length };
    const { turns } = await engine.commit({
      idempotency: { context, key },
      blobs: [{ hash: payload, bytes }],
      turns: [{ context, ...about }],
    });
    // Straight to the pipe: a line that was written is an acknowledgement that was given.
    writeSync(1, `${writer} ${number} ${turns[0].id}\n`);
  }
}
