import { expect, it, onTestFinished } from 'vitest';
import { present } from '../testing/engine-suite/fixture.ts';
import { ModelEngine } from '../testing/model-engine.ts';
import { createStore } from './create-store.ts';
import type { StoreEvent } from './watch-event.ts';

it('tells no hash of what was erased to a reader that comes back later', async () => {
  const store = createStore(new ModelEngine());
  onTestFinished(() => store.close());
  const { contexts } = store;
  const { id } = await contexts.create();
  let after = '';
  for await (const event of store.watch()) {
    after = event.id;
    break;
  }
  const turn = await contexts.append(id, { type: 'note', payload: 'secret' });
  const { payloadHash } = present(await contexts.turn(turn.id));
  const patch = await contexts.patch(turn.id, 'secret too');
  await contexts.erase(turn.id, { reason: 'a password' });
  const told: StoreEvent[] = [];
  for await (const event of store.watch({}, { after })) {
    told.push(event);
    if (event.kind === 'patch.added' && event.patch.tombstone) break;
  }
  expect(told.map(({ kind }) => kind)).toEqual([
    'resumed',
    'turn.appended',
    'patch.added',
    'patch.added',
  ]);
  expect(JSON.stringify(told)).not.toContain(present(payloadHash));
  expect(JSON.stringify(told)).not.toContain(patch.payloadHash);
});
