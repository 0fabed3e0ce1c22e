// Undo, redo, branches and a comparison: node examples/undo-and-branches.mjs ./.quipu
import { openStore } from 'quipudb';

const store = await openStore(process.argv[2] ?? './.quipu');
const { contexts } = store;
const main = await contexts.create({ title: 'A plan' });

const say = (id, text) => contexts.append(id, { type: 'step', payload: text });
const show = async (label, id) => {
  const { turns } = await contexts.last(id, 10);
  console.log(`${label}: ${turns.map(({ payload }) => payload).join(' > ')}`);
};

const first = await say(main.id, 'read the code');
const second = await say(main.id, 'rewrite it all');
await show('main', main.id);

await contexts.moveHead(main.id, second.parent);
await show('undo', main.id);
await contexts.moveHead(main.id, second.id);
await show('redo', main.id);

// A branch starts at any turn and copies nothing.
const branch = await contexts.fork(first.id, { title: 'Another plan' });
await say(branch.id, 'fix one line');
const tip = await say(branch.id, 'add a test');
await show('branch', branch.id);

const { base, left, right } = await contexts.diff(second.id, tip.id);
console.log(`common: turn ${base}; only in main: ${left.length}; only in branch: ${right.length}`);

// The branch won: the main context continues from its newest turn.
await contexts.moveHead(main.id, tip.id);
await say(main.id, 'ship it');
await show('main', main.id);
await store.close();
