import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { ContextId, TurnId } from '../../base/brand.ts';
import { createStore } from '../../store/create-store.ts';
import type { Store } from '../../store/store.ts';
import { ModelEngine } from '../../testing/model-engine.ts';
import { activityOf } from './activity.ts';
import { branchTree, type TreeTurns, Families } from './branch-tree.ts';
import { RecentThreads } from './recent-threads.ts';

const turn = { type: 'note', payload: 'x' };

/** The steps of a random tree: append to a context, or fork from one of the turns so far. */
const plan = fc.array(
  fc.oneof(
    fc.record({ do: fc.constant('append' as const), to: fc.nat() }),
    fc.record({ do: fc.constant('fork' as const), from: fc.nat() }),
    fc.record({ do: fc.constant('begin' as const) }),
  ),
  { maxLength: 40 },
);

async function carryOut(
  store: Store,
  steps: readonly Step[],
): Promise<{ contexts: ContextId[]; parents: Map<TurnId, TurnId> }> {
  const contexts = [(await store.contexts.create()).id];
  const parents = new Map<TurnId, TurnId>();
  for (const step of steps) {
    const turns = [...parents.keys()];
    if (step.do === 'begin') contexts.push((await store.contexts.create()).id);
    else if (step.do === 'append') {
      const made = await store.contexts.append(contexts[step.to % contexts.length]!, turn);
      parents.set(made.id, made.parent);
    } else if (turns.length > 0) {
      contexts.push((await store.contexts.fork(turns[step.from % turns.length]!)).id);
    }
  }
  return { contexts, parents };
}

/** An engine that counts the records it is asked for. */
function countReads(engine: ModelEngine): { turns: TreeTurns; reads: () => number } {
  let count = 0;
  const counted = <A extends readonly unknown[], R>(read: (...args: A) => R) =>
    function countOne(...args: A): R {
      count += 1;
      return read(...args);
    };
  const turns = {
    getTurn: counted((id: TurnId) => engine.getTurn(id)),
    ancestorAt: counted((id: TurnId, depth: number) => engine.ancestorAt(id, depth)),
    commonAncestor: counted((a: TurnId, b: TurnId) => engine.commonAncestor(a, b)),
  };
  return { turns, reads: () => count };
}

type Step = { do: 'append'; to: number } | { do: 'fork'; from: number } | { do: 'begin' };

function chainOf(head: TurnId, parents: ReadonlyMap<TurnId, TurnId>): TurnId[] {
  const chain: TurnId[] = [];
  for (let at = head; at !== 0n; at = parents.get(at) ?? (0n as TurnId)) chain.push(at);
  return chain.reverse();
}

it('finds roots, forks and heads of any tree, and counts its turns', async () => {
  await fc.assert(
    fc.asyncProperty(plan, async (steps) => {
      const engine = new ModelEngine({});
      await using store = createStore(engine);
      const { parents } = await carryOut(store, steps);
      const { items } = await store.contexts.list();
      const heads = items.filter(({ head }) => head !== 0n);
      const { nodes, turns } = await branchTree(engine, heads);

      const chains = heads.map(({ head }) => chainOf(head, parents));
      const children = new Map<TurnId, Set<TurnId>>();
      for (const chain of chains) {
        chain.forEach((id, at) => {
          const next = chain[at + 1];
          const set = children.get(id) ?? new Set();
          children.set(id, next === undefined ? set : set.add(next));
        });
      }
      const wanted = new Set<TurnId>();
      for (const chain of chains) {
        wanted.add(chain[0]!);
        wanted.add(chain.at(-1)!);
        for (const id of chain) if ((children.get(id)?.size ?? 0) > 1) wanted.add(id);
      }
      expect(new Set(nodes.map(({ row }) => row.id))).toEqual(wanted);
      expect(nodes).toHaveLength(wanted.size);
      expect(turns).toBe(new Set(chains.flat()).size);
      for (const { row, parent } of nodes) {
        const below = chainOf(row.id, parents).slice(0, -1).reverse();
        expect(parent).toBe(below.find((id) => wanted.has(id)));
      }
    }),
    { numRuns: 60 },
  );
});

it('takes a few reads for each fork, however many there are', async () => {
  const engine = new ModelEngine({});
  await using store = createStore(engine);
  const { id } = await store.contexts.create();
  const made = await store.contexts.appendBatch(
    id,
    Array.from({ length: 600 }, () => turn),
  );
  for (const { id: from } of made.filter((_, n) => n % 2 === 1)) {
    const fork = await store.contexts.fork(from);
    await store.contexts.append(fork.id, turn);
  }
  const { items } = await store.contexts.list({ limit: 1000 });
  const oldestFirst = [...items].reverse();
  const { turns, reads } = countReads(engine);
  const { nodes } = await branchTree(turns, oldestFirst);
  expect(nodes).toHaveLength(601);
  expect(reads()).toBeLessThan(6 * items.length);
});

it('takes a few reads for a branch, also where each parts from the one before it', async () => {
  const engine = new ModelEngine({});
  await using store = createStore(engine);
  let { id: context } = await store.contexts.create();
  const { id: first } = await store.contexts.append(context, turn);
  for (let n = 0, from = first; n < 200; n += 1) {
    ({ id: context } = await store.contexts.fork(from));
    const [next] = await store.contexts.appendBatch(context, [turn, turn]);
    from = next!.id;
  }
  const { items } = await store.contexts.list({ limit: 1000 });
  for (const heads of [items, items.toReversed()]) {
    const { turns, reads } = countReads(engine);
    const tree = await branchTree(turns, heads);
    expect(tree.turns).toBe(401);
    expect(reads()).toBeLessThan(6 * items.length);
  }
});

it('answers before all contexts are read, and says so', async () => {
  const engine = new ModelEngine({});
  await using store = createStore(engine);
  const { id: asked } = await store.contexts.create();
  const { id: root } = await store.contexts.append(asked, turn);
  const { id: fork } = await store.contexts.fork(root);
  for (let n = 0; n < 1200; n += 1) await store.contexts.create();
  const { id: late } = await store.contexts.fork(root);
  const families = new Families(engine);
  const early = await families.of(fork, 0);
  expect(early.isWhole).toBe(false);
  expect(early.contexts).toEqual(expect.arrayContaining([asked, fork]));
  const whole = await families.of(asked, 60_000);
  expect(whole.isWhole).toBe(true);
  expect(new Set(whole.contexts)).toEqual(new Set([asked, fork, late]));
  families.close();
});

it('keeps families current while contexts come, move and go', async () => {
  await fc.assert(
    fc.asyncProperty(plan, plan, async (before, after) => {
      const engine = new ModelEngine({});
      await using store = createStore(engine);
      const families = new Families(engine);
      const check = async (): Promise<void> => {
        const { items } = await store.contexts.list();
        const roots = new Map(
          await Promise.all(
            items.map(async ({ id, head }) => {
              const root = head === 0n ? undefined : await engine.ancestorAt(head, 0);
              return [id, root?.id] as const;
            }),
          ),
        );
        for (const [id, root] of roots) {
          const family = root === undefined ? [] : [...roots].filter(([, r]) => r === root);
          const { contexts, isWhole } = await families.of(id, 60_000);
          expect(isWhole).toBe(true);
          expect(new Set(contexts)).toEqual(new Set(family.map(([other]) => other)));
        }
      };
      await carryOut(store, before);
      await check();
      const { contexts } = await carryOut(store, after);
      await store.contexts.remove(contexts[0]!);
      await check();
      families.close();
    }),
    { numRuns: 30 },
  );
});

it('lists contexts and chats in one order, page by page', async () => {
  let now = 1000;
  const engine = new ModelEngine({ clock: () => (now += 1) });
  await using store = createStore(engine, { clock: () => (now += 1) });
  for (let n = 0; n < 7; n += 1) {
    await store.contexts.create({ title: `context ${n}` });
    if (n % 2 === 0) await store.chats.create({ title: `chat ${n}` });
    if (n % 3 === 0) await store.contexts.create({ title: 'of an import', kind: 'import.ledger' });
  }
  const recent = new RecentThreads({ store, engine });
  const whole = await recent.list({ limit: 100, kind: 'context' });
  expect(whole.items.map(({ title }) => title)).toEqual(
    [6, 5, 4, 3, 2, 1, 0].map((n) => `context ${n}`),
  );
  const read = async (limit: number): Promise<string[]> => {
    const titles: string[] = [];
    for (let cursor: string | undefined, more = true; more;) {
      const page = await recent.list({ limit, ...(cursor !== undefined && { cursor }) });
      titles.push(...page.items.map(({ kind, id }) => `${kind} ${id}`));
      ({ cursor } = page);
      more = cursor !== undefined;
    }
    return titles;
  };
  const all = await read(100);
  expect(all).toHaveLength(11);
  for (const limit of [1, 2, 3]) expect(await read(limit)).toEqual(all);
});

it('says what was said last, and not what was hidden', async () => {
  const engine = new ModelEngine({});
  await using store = createStore(engine);
  const recent = new RecentThreads({ store, engine });
  const { id } = await store.contexts.create({ title: 'talk' });
  const line = async (): Promise<string | undefined> =>
    (await recent.list({ limit: 5, kind: 'context' })).items[0]?.detail;
  expect(await line()).toBeUndefined();
  const { id: said } = await store.contexts.append(id, {
    type: 'chat.message',
    payload: { role: 'user', text: 'two\n  lines' },
  });
  expect(await line()).toBe('two lines');
  await store.contexts.tombstone(said, 'secret');
  expect(await line()).toBeUndefined();
});

it('shows a chat right after a change, with its open question', async () => {
  const engine = new ModelEngine({});
  await using store = createStore(engine);
  const recent = new RecentThreads({ store, engine });
  const read = async (): Promise<unknown> => {
    const { items } = await recent.list({ limit: 5 });
    return items.map(({ title, detail }) => [title, detail]);
  };
  expect(await read()).toEqual([]);
  const { id } = await store.chats.create({ title: 'logs' });
  await expect.poll(read).toEqual([['logs', undefined]]);
  const chat = await store.chats.open(id);
  await chat.add({ role: 'user', content: 'where to?' });
  await expect.poll(read).toEqual([['logs', 'where to?']]);
  await chat.ask([{ id: 'days', text: 'How many days?', kind: 'text' }]);
  await expect.poll(read).toEqual([['logs', 'Waiting for your answer: How many days?']]);
  expect(await recent.titleOf('chat', id)).toBe('logs');
  recent.close();
});

it('keeps the newest of very many chats, although they are listed by age', async () => {
  const engine = new ModelEngine({});
  await using store = createStore(engine);
  const at = (n: number): string => new Date(1.7e12 + n * 1000).toISOString();
  const chats: Pick<Store['chats'], 'list'> = {
    async list({ limit = 1000, cursor = '0' } = {}) {
      const from = Number(cursor);
      const items = Array.from({ length: limit }, (_, n) => ({
        id: String(from + n),
        title: `chat ${from + n}`,
        createdAt: at(from + n),
        updatedAt: at(from + n),
        pinned: false,
        events: 0,
        bytes: 0,
      }));
      return from + limit < 25_000 ? { items, cursor: String(from + limit) } : { items };
    },
  };
  const many = { ...store, chats: { ...store.chats, ...chats } } as Store;
  const recent = new RecentThreads({ store: many, engine });
  const { items } = await recent.list({ limit: 2, kind: 'chat' });
  expect(items.map(({ title }) => title)).toEqual(['chat 24999', 'chat 24998']);
  recent.close();
});

it('counts turns by day without reading them all', async () => {
  const day = 86_400_000;
  let now = 20 * day + 1;
  const engine = new ModelEngine({ clock: () => now });
  await using store = createStore(engine, { clock: () => now });
  const { id } = await store.contexts.create();
  for (const [at, turns] of [
    [20, 3],
    [22, 40],
    [23, 1],
  ] as const) {
    now = at * day + 5;
    await store.contexts.appendBatch(
      id,
      Array.from({ length: turns }, () => turn),
    );
  }
  let reads = 0;
  const counted = {
    tips: () => engine.tips(),
    getTurn: (turnId: TurnId) => {
      reads += 1;
      return engine.getTurn(turnId);
    },
  };
  expect(await activityOf(counted, 10, 23 * day + 9)).toEqual([
    { day: '1970-01-21', turns: 3 },
    { day: '1970-01-23', turns: 40 },
    { day: '1970-01-24', turns: 1 },
  ]);
  expect(reads).toBeLessThan(44);
  expect(await activityOf(counted, 1, 23 * day + 9)).toEqual([{ day: '1970-01-24', turns: 1 }]);

  reads = 0;
  now = 4000 * day;
  await store.contexts.append(id, turn);
  expect(await activityOf(counted, 3979, now)).toEqual([
    { day: '1970-01-23', turns: 40 },
    { day: '1970-01-24', turns: 1 },
    { day: '1980-12-14', turns: 1 },
  ]);
  expect(await activityOf(counted, 3000, now)).toEqual([{ day: '1980-12-14', turns: 1 }]);
  expect(reads).toBeLessThan(88);
});
