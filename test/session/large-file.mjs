// Opens a session file of many megabytes, and measures what that takes, in a process of its own.
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { openStore } from '../../dist/index.js';

const [, , folder, megabytes] = process.argv;
const store = await openStore(join(folder, 'store'), { durability: 'unsafe' });
const { id, file } = await store.sessions.create();
const text = 'what an agent said and did '.repeat(300);
let count = 0;
for (let bytes = 0; bytes < Number(megabytes) * 1e6;) {
  const lines = [];
  for (let n = 0; n < 100; n++, count++) {
    const parentId = count === 0 ? null : `e${count - 1}`;
    const message = { role: 'user', content: [{ type: 'text', text }] };
    lines.push(`${JSON.stringify({ type: 'message', id: `e${count}`, parentId, message })}\n`);
  }
  const piece = lines.join('');
  appendFileSync(file, piece);
  bytes += piece.length;
}

globalThis.gc();
const rss = () => process.memoryUsage.rss() / 1e6;
const before = rss();
const begun = performance.now();
const session = await store.sessions.open(id);
const { entries } = await session.last(50);
const lastMs = performance.now() - begun;
const lastMb = rss() - before;
await session.append({ type: 'message', id: 'new' });
let [read, peak] = [0, 0];
for await (const { entry } of session.entries()) {
  read += entry.id === `e${read}` || entry.id === 'new' ? 1 : 0;
  if (read % 1000 === 0) peak = Math.max(peak, rss());
}
const wholeMb = peak - before;
const last = entries.at(-1).id === `e${count - 1}` && entries.length === 50;
await store.close();
process.stdout.write(
  JSON.stringify({ lastMs, lastMb, wholeMb, missing: count + 1 - read, last: Number(last) }),
);
