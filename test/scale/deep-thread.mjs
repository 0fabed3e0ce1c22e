// In the folder given: `build` makes a thread of many turns; `use` opens it and measures.
import { openFilesEngine } from '../../dist/engine/files/open-files-engine.js';
import { createStore } from '../../dist/store/create-store.js';
import { openStore } from '../../dist/index.js';

const BATCH_TURNS = 10_000;
const [, , action, folder, count] = process.argv;
const turns = Number(count);

async function build() {
  const store = await openStore(folder, { durability: 'unsafe' });
  const { id } = await store.contexts.create();
  for (let done = 0; done < turns; done += BATCH_TURNS) {
    const batch = Array.from({ length: BATCH_TURNS }, (_, i) => ({
      type: 'note',
      encoding: 'text',
      payload: `turn at depth ${done + i}`,
    }));
    await store.contexts.appendBatch(id, batch);
  }
  await store.close();
  return {};
}

async function open() {
  const start = performance.now();
  const engine = await openFilesEngine(folder, { create: false });
  return { engine, openMs: performance.now() - start };
}

async function use() {
  // The machine may stand still during one of them.
  const first = await open();
  await first.engine.close();
  const { engine, openMs: again } = await open();
  const openMs = Math.min(first.openMs, again);
  const rssBytes = process.memoryUsage.rss();
  const store = createStore(engine);
  const { contexts } = store;

  const added = await contexts.append(1n, { type: 'note', encoding: 'text', payload: 'one more' });
  const forks = [];
  for (const depth of [10, 1000, turns - 1]) {
    const [turn] = (await contexts.range(1n, depth, depth + 1)).turns;
    const before = engine.turnReads;
    const fork = await contexts.fork(turn.id);
    forks.push({ reads: engine.turnReads - before, depth: fork.headDepth });
  }
  let mostReads = 0;
  let wrong = 0;
  for (let i = 0; i < 200; i++) {
    const from = Math.floor(((i * 0.618_034) % 1) * (turns - 64));
    const before = engine.turnReads;
    const page = await contexts.range(1n, from, from + 64);
    mostReads = Math.max(mostReads, engine.turnReads - before);
    wrong += page.turns.filter((turn, n) => turn.payload !== `turn at depth ${from + n}`).length;
    wrong += Math.abs(page.turns.length - 64);
  }
  await store.close();
  return {
    openMs,
    rssBytes,
    depth: added.depth,
    mostForkReads: Math.max(...forks.map(({ reads }) => reads)),
    deepestFork: forks.at(-1).depth,
    mostReads,
    wrong,
  };
}

process.stdout.write(JSON.stringify(await (action === 'build' ? build() : use())));
