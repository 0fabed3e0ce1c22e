import { describe, expect, it } from 'vitest';
import type { ContextId, ContextIdLike, TurnId, TurnIdLike } from '../../base/brand.ts';
import type { Contexts } from '../../context/contexts.ts';
import type { Blobs } from '../../store/blobs.ts';
import type { Maintain } from '../../store/maintain.ts';
import type { Store } from '../../store/store.ts';
import { failure, present } from '../engine-suite/fixture.ts';
import type { ContextsTarget } from './contexts-target.ts';
import { iterate, openWith, take } from './fixture.ts';

/** Ids may be given as bigints, numbers and decimal digits. All results are fit for JSON. */
export function idsSuite(target: ContextsTarget): void {
  describe('ids', () => {
    it.each(Object.entries(FORMS))('are accepted as %s wherever one goes', async (_, form) => {
      const scene = await openScene(target);
      for (const [verb, call] of Object.entries(CONTEXT_VERBS)) {
        await expect(resultOf(call(scene, form)), verb).resolves.not.toThrow();
      }
      const events = iterate((signal) =>
        scene.store.watch({ context: form(scene.id) }, { signal, after: scene.began }),
      );
      expect((await take(events, 2))[1]).toMatchObject({ turn: { context: scene.id } });
    });

    it.each(['', 'x', ' 1', '01', '-1', '1.0', '1e3', '0x1', '9'.repeat(17), '9007199254740992'])(
      'are not %j',
      async (text) => {
        const { contexts, id } = await openWith(target, 'a');
        for (const call of [
          () => contexts.get(text),
          () => contexts.turn(text),
          () => contexts.append(id, { type: 't', payload: 1 }, { parent: text }),
          () => contexts.append(id, { type: 't', payload: 1 }, { expectedHead: text }),
          () => contexts.create({ base: text }),
        ]) {
          const { message } = await failure(call(), 'INVALID');
          expect(message).toContain(`got ${JSON.stringify(text)}`);
        }
        expect((await contexts.list()).items.length).toBe(1);
      },
    );

    it('are decimal strings in the JSON of every result', async () => {
      const scene = await openScene(target);
      const { store, id, turns } = scene;
      const json: Record<string, unknown> = {};
      for (const [kind, verbs] of Object.entries({
        contexts: CONTEXT_VERBS,
        blobs: BLOB_VERBS,
        maintain: MAINTAIN_VERBS,
      })) {
        for (const [verb, call] of Object.entries(verbs)) {
          const result = await resultOf(call(scene, (given) => given));
          const text = JSON.stringify(result);
          json[`${kind}.${verb}`] = text === undefined ? undefined : JSON.parse(text);
        }
      }
      const [first, second] = turns.map(String);
      expect(json).toMatchObject({
        'contexts.get': { id: String(id), head: second },
        'contexts.list': { items: someOf({ id: String(id) }) },
        'contexts.before': { turns: [{ id: first }] },
        'contexts.last': { turns: [{ context: String(id) }] },
        'contexts.range': { turns: [{ id: first }, { id: second }] },
        'contexts.diff': { base: first, left: [], right: [second] },
        'contexts.patch': { turn: second },
        'contexts.pins': [{ turn: first }],
        'contexts.erase': { turn: second, erased: false },
        'blobs.erase': { erased: false, usedBy: [second, String(turns[1] + 1n)] },
        'maintain.retain': { removed: someOf({ id: String(id) }) },
      });
      expect(JSON.stringify(await store.contexts.open(id, { type: 't' }))).toContain('"id":"');
    });

    it('are decimal strings in the JSON of every event', async () => {
      const { store, id, turns } = await openScene(target);
      const events = iterate((signal) => store.watch({}, { signal }));
      await take(events, 1);
      await store.contexts.patch(present(turns[0]), 'patched');
      const open = await store.contexts.open(id, { type: 't' });
      await open.seal();
      await store.contexts.remove(id);
      const seen: unknown[] = [];
      for (let kind = ''; kind !== 'context.removed';) {
        const [event] = await take(events, 1);
        kind = present(event).kind;
        seen.push(JSON.parse(JSON.stringify(event)));
      }
      expect(seen).toContainEqual(containing({ kind: 'context.removed', contextId: String(id) }));
      expect(seen).toContainEqual(
        containing({ kind: 'patch.added', patch: containing({ turn: String(turns[0]) }) }),
      );
    });
  });
}

const FORMS: Readonly<Record<string, (id: bigint) => bigint | number | string>> = {
  bigints: (id) => id,
  numbers: Number,
  strings: String,
};

function containing(fields: object): unknown {
  return expect.objectContaining(fields);
}

function someOf(fields: object): unknown {
  return expect.arrayContaining([containing(fields)]);
}

interface Scene {
  readonly store: Store;
  readonly id: ContextId;
  /** Two turns. A turn of another context shares the payload of the second. */
  readonly turns: readonly [TurnId, TurnId];
  readonly tree: Awaited<ReturnType<Blobs['put']>>['hash'];
  readonly payload: string;
  /** The position before anything happened. */
  readonly began: string;
}

async function openScene(target: ContextsTarget): Promise<Scene> {
  const { store, contexts, id } = await openWith(target);
  const [started] = await take(
    iterate((signal) => store.watch({}, { signal })),
    1,
  );
  const first = await contexts.append(id, { type: 'test.note', payload: 'first' });
  const second = await contexts.append(id, { type: 'test.note', payload: 'shared' });
  const { hash: tree } = await store.blobs.put(Buffer.from('[]'));
  const other = await contexts.create();
  await contexts.append(other.id, { type: 'test.note', payload: 'shared' });
  const payload = present(second.payloadHash);
  const began = present(started).id;
  return { store, id, turns: [first.id, second.id], tree, payload, began };
}

type Form = (id: bigint) => (ContextIdLike & TurnIdLike) | string | number;
type Call = (scene: Scene, form: Form) => unknown;

/** A verb that is missing here does not compile. */
const CONTEXT_VERBS: Readonly<Record<keyof Contexts, Call>> = {
  create: ({ store, turns }, form) => store.contexts.create({ base: form(turns[1]) }),
  fork: ({ store, turns }, form) => store.contexts.fork(form(turns[1])),
  get: ({ store, id }, form) => store.contexts.get(form(id)),
  getOrCreate: ({ store, turns }, form) =>
    store.contexts.getOrCreate('name', { base: form(turns[1]) }),
  byName: ({ store }) => store.contexts.byName('name'),
  heads: ({ store, id }, form) => store.contexts.heads([form(id)]),
  rename: ({ store, id }, form) => store.contexts.rename(form(id), 'other name'),
  moveHead: ({ store, id, turns }, form) =>
    store.contexts.moveHead(form(id), form(turns[0]), { expectedHead: form(turns[1]) }),
  list: ({ store }) => store.contexts.list(),
  update: ({ store, id }, form) => store.contexts.update(form(id), { title: 'x' }),
  remove: async ({ store }, form) =>
    store.contexts.remove(form((await store.contexts.create()).id)),
  append: ({ store, id, turns }, form) =>
    store.contexts.append(form(id), { type: 't', payload: 1 }, { parent: form(turns[1]) }),
  appendBatch: async ({ store, id }, form) => {
    const head = present(await store.contexts.get(id)).head;
    const where = { parent: form(head), expectedHead: form(head) };
    return store.contexts.appendBatch(form(id), [{ type: 't', payload: 1 }], where);
  },
  last: ({ store, id }, form) => store.contexts.last(form(id), 1),
  before: ({ store, id, turns }, form) => store.contexts.before(form(id), form(turns[1]), 1),
  range: ({ store, id }, form) => store.contexts.range(form(id), 0, 2),
  chain: ({ store, turns }, form) => store.contexts.chain(form(turns[1])),
  turn: ({ store, turns }, form) => store.contexts.turn(form(turns[1])),
  diff: ({ store, turns }, form) => store.contexts.diff(form(turns[0]), form(turns[1])),
  open: async ({ store }, form) => {
    const { id } = await store.contexts.create();
    return store.contexts.open(form(id), { type: 't' }, { expectedHead: form(0n) });
  },
  abort: async ({ store }, form) => {
    const { id } = await store.contexts.create();
    const turn = await store.contexts.open(id, { type: 't' });
    return store.contexts.abort(form(turn.id), 'stopped');
  },
  resume: async ({ store }, form) => {
    const { id } = await store.contexts.create();
    return store.contexts.resume(form((await store.contexts.open(id, { type: 't' })).id));
  },
  patch: ({ store, turns }, form) => store.contexts.patch(form(turns[1]), 'other'),
  tombstone: ({ store, turns }, form) => store.contexts.tombstone(form(turns[1]), 'hidden'),
  patches: ({ store, turns }, form) => store.contexts.patches(form(turns[1])),
  attach: ({ store, turns, tree }, form) => store.contexts.attach(form(turns[1]), tree),
  fsRoot: ({ store, turns }, form) => store.contexts.fsRoot(form(turns[1])),
  pin: ({ store, turns }, form) => store.contexts.pin(form(turns[0])),
  unpin: async ({ store, turns }, form) => {
    await store.contexts.pin(turns[1]);
    await store.contexts.unpin(form(turns[1]));
  },
  pins: ({ store }) => store.contexts.pins(),
  follow: ({ store, id, turns }, form) =>
    store.contexts.follow(form(id), { after: form(turns[0]) }),
  followOpen: async ({ store }, form) => {
    const { id } = await store.contexts.create();
    const open = await store.contexts.open(id, { type: 't' });
    await open.write('a');
    return store.contexts.followOpen(form(open.id));
  },
  erase: ({ store, turns }, form) => store.contexts.erase(form(turns[1]), { reason: 'r' }),
};

const BLOB_VERBS: Readonly<Record<Exclude<keyof Blobs, 'path'>, Call>> = {
  put: ({ store }) => store.blobs.put(Buffer.from('blob')),
  get: ({ store, payload }) => store.blobs.get(payload),
  has: ({ store, payload }) => store.blobs.has(payload),
  stat: ({ store, payload }) => store.blobs.stat(payload),
  list: ({ store, payload }) => store.blobs.list({ prefix: payload.slice(0, 6) }),
  stream: ({ store, payload }) => store.blobs.stream(payload),
  erase: ({ store, payload }) => store.blobs.erase(payload, { reason: 'r' }),
};

const MAINTAIN_VERBS: Readonly<Record<Exclude<keyof Maintain, 'backup'>, Call>> = {
  stats: ({ store }) => store.maintain.stats(),
  checkpoint: ({ store }) => store.maintain.checkpoint(),
  reindex: ({ store }) => store.maintain.reindex(),
  gc: ({ store }) => store.maintain.gc(),
  verify: ({ store }) => store.maintain.verify(),
  retain: ({ store }) => store.maintain.retain({ maxAgeMs: 0 }, { dryRun: true }),
};

/** The result of a call, or the first item of an iteration. */
async function resultOf(given: unknown): Promise<unknown> {
  const result = await given;
  if (typeof result !== 'object' || result === null || !(Symbol.asyncIterator in result)) {
    return result;
  }
  const items = (result as AsyncIterable<unknown>)[Symbol.asyncIterator]();
  const { value } = (await items.next()) as IteratorResult<unknown, unknown>;
  // An iteration that waits for more ends with the store.
  void items.return?.();
  return value;
}
