// Appends and searches, until it is killed.
//   search-worker.mjs <store> <word>
import { openStore } from '../../dist/index.js';

const [url, word] = process.argv.slice(2);
const store = await openStore(url);
const { id } = await store.contexts.create();
for (let n = 0; ; n += 20) {
  const turns = Array.from({ length: 20 }, (_, at) => ({
    type: 'm',
    payload: `${word} w${n + at}`,
  }));
  await store.contexts.appendBatch(id, turns);
  const { hits } = await store.search(word, { limit: 1 });
  process.stdout.write(`${hits.length}\n`);
}
