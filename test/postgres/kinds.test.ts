import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createStore } from '../../src/store/create-store.ts';
import type { Store } from '../../src/store/store.ts';
import { ModelEngine } from '../../src/testing/model-engine.ts';
import { StoreSchemas } from '../support/postgres/store-schemas.ts';
import { brief, textsOf } from '../chat/rig.ts';
import { BUNDLE } from '../workflow/fixture.ts';

// The kinds of thread know the contract alone. Each scene is played on the model and on PostgreSQL, at the
// same times, and must tell the same.

type Scene = (store: Store) => Promise<unknown>;

const chat: Scene = async (store) => {
  await store.chats.create({ id: 'c1', title: 'talk' });
  const opened = await store.chats.open('c1');
  for (const id of ['a', 'b', 'c']) await opened.add({ role: 'user', content: id, id });
  await opened.edit('b', 'edited');
  const side = await opened.fork('b', { branch: 'side' });
  await opened.add({ role: 'user', content: 'd', id: 'd', branch: side });
  const again = await store.chats.open('c1');
  return {
    main: await textsOf(again),
    side: await textsOf(again, side),
    messages: (await again.messages()).messages.map(brief),
    status: await again.status(),
    list: await store.chats.list(),
  };
};

const workflow: Scene = async (store) => {
  const { workflows } = store;
  const { id } = await workflows.start({ name: 'solve', bundle: BUNDLE, prompt: 'fix it' });
  for (let n = 1; n <= 12; n += 1) await workflows.step(id, { role: 'coder', content: `${n}` });
  const end = await workflows.end(id, { summary: 'done' });
  return { role: end.role, meta: end.meta };
};

const health: Scene = async (store) => {
  const context = await store.contexts.create({ title: 'kept' });
  await store.contexts.append(context.id, { type: 'note', payload: 'kept' });
  const gone = await store.contexts.create();
  await store.contexts.append(gone.id, { type: 'note', payload: 'dead' });
  await store.contexts.remove(gone.id);
  const { removedBlobs, liveBlobs } = await store.maintain.gc({ graceMs: 0 });
  const { problems, checked } = await store.maintain.verify();
  const { turns, contexts, blobs } = await store.maintain.stats();
  const { contexts: checkedContexts } = checked;
  return { removedBlobs, liveBlobs, problems, turns, contexts, blobs, some: checkedContexts > 0 };
};

/** The same moments for both: every question takes a second. */
function clockOf(): () => number {
  const now = Date.UTC(2026, 10, 15);
  return () => now;
}

describe('on PostgreSQL as on the model', () => {
  const schemas = new StoreSchemas();
  let store: Store;
  let model: Store;
  beforeAll(async () => {
    const clock = clockOf();
    store = createStore(await schemas.open({ clock }), { clock });
    model = createStore(new ModelEngine({ clock }), { clock });
  });
  afterAll(async () => {
    await store.close();
    await model.close();
  });

  it.each(Object.entries({ chat, workflow, health }))('a scene of %s', async (_name, scene) => {
    expect(await scene(store)).toEqual(await scene(model));
  });
});
