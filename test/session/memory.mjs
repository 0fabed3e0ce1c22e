// Measures what a sink and a reader of lines take in memory, in a process of its own.
import { join } from 'node:path';
import { openStore } from '../../dist/index.js';

const [, , folder, megabytes] = process.argv;
const store = await openStore(join(folder, 'store'), { durability: 'unsafe' });
const session = await store.sessions.create();
const chunk = Buffer.from(
  'a line of the output of some program, with colour \u001b[31mred\u001b[0m\n'.repeat(1000),
);
const rss = () => process.memoryUsage.rss() / 1e6;

const warm = session.sink();
for (let n = 0; n < 100; n++) await warm.push(chunk);
await warm.dump();
const before = rss();
let peak = 0;
const sink = session.sink({ toolType: 'bash' });
for (let bytes = 0; bytes < Number(megabytes) * 1e6; bytes += chunk.length) {
  await sink.push(chunk);
  peak = Math.max(peak, rss());
}
const { artifactId } = await sink.dump();
const readBefore = rss();
const { content } = await session.resolve(`artifact://${artifactId}`, { offset: 1000, limit: 10 });
const sinkMb = peak - before;
const readMb = rss() - readBefore;
await store.close();
process.stdout.write(JSON.stringify({ sinkMb, readMb, lines: content.split('\n').length }));
