// A process with a store, driven by messages from its parent: { id, verb, args } is answered by { id, value }
// or { id, error }. What `follow` and `write` see or do is told as it happens, as { told }.
import { openStore } from '../../dist/index.js';

let store;
let openTurn;

const verbs = {
  async open(folder, options) {
    store = await openStore(folder, options);
  },
  async create() {
    return String((await store.contexts.create()).id);
  },
  async getOrCreate(name) {
    return String((await store.contexts.getOrCreate(name)).id);
  },
  /** Broken on purpose: another process may make the context after this one has looked. */
  async lookThenCreate(name) {
    const found = await store.contexts.list({ label: name, limit: 1 });
    const context = found.items[0] ?? (await store.contexts.create({ labels: [name] }));
    return String(context.id);
  },
  async append(context, payload) {
    const turn = await store.contexts.append(BigInt(context), { type: 'note', payload });
    return String(turn.id);
  },
  async payloads(context) {
    const { turns } = await store.contexts.last(BigInt(context), 10_000);
    return turns.map((turn) => turn.payload);
  },
  async outcomes(context) {
    const { turns } = await store.contexts.last(BigInt(context), 10_000);
    return turns.map(({ outcome, payload }) => ({ outcome, payload }));
  },
  async follow(context) {
    void (async () => {
      for await (const turn of store.contexts.follow(BigInt(context))) {
        process.send({ told: turn.payload });
      }
    })();
  },
  /** Appends and creates, one after the other, until it is told to stop. */
  async work(context, name) {
    working = true;
    for (let n = 0; working; n += 1) {
      await verbs.append(context, `${name}-${n}`);
      await store.contexts.create({ title: `${name}-${n}` });
      process.send({ told: `${name}-${n}` });
    }
  },
  async rest() {
    working = false;
  },
  async titles() {
    const { items } = await store.contexts.list({ limit: 10_000 });
    return items.map((context) => context.title ?? '');
  },
  async stream(context, text) {
    openTurn ??= await store.contexts.open(BigInt(context), { type: 'note', encoding: 'text' });
    await openTurn.write(text);
    await openTurn.flush();
  },
  async seal() {
    await openTurn.seal();
  },
  async backup(to) {
    return (await store.maintain.backup(to)).turns ?? 0;
  },
  async gc() {
    return (await store.maintain.gc({ graceMs: 0 })).removedBlobs;
  },
  async close() {
    await store.close();
  },
  /** From here on only the store could keep the process alive. */
  async leave() {
    setImmediate(() => process.disconnect());
  },
};
let working = false;

process.on('message', ({ id, verb, args }) => {
  verbs[verb](...args).then(
    (value) => process.send?.({ id, value }),
    (error) =>
      process.send?.({ id, error: { code: error.code, message: error.message, data: error.data } }),
  );
});
