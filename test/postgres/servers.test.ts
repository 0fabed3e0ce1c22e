import { expect, it, onTestFinished, vi } from 'vitest';
import type { Engine } from '../../src/engine/engine.ts';
import type { Change } from '../../src/engine/batch.ts';
import { type Hash, toTurnId } from '../../src/base/brand.ts';
import { TurnFlag } from '../../src/format/turn-record.ts';
import {
  append,
  appendBatch,
  blobOf,
  createContext,
  openTurn,
  sealTurn,
} from '../../src/testing/engine-suite/fixture.ts';
import { Ears, held, orphanTurns, sweep } from '../../src/testing/engine-suite/upkeep-fixture.ts';
import { runSql } from '../support/postgres/run-sql.ts';
import { StoreSchemas } from '../support/postgres/store-schemas.ts';
import { PATIENCE } from '../../src/testing/patience.ts';

// Several servers over one database: each test opens two engines, which know nothing of each other.

const schemas = new StoreSchemas();

async function openBeside(engine: Engine): Promise<Engine> {
  const other = await schemas.reopen(engine);
  onTestFinished(() => other.close());
  return other;
}

async function openTwo(): Promise<{ a: Engine; b: Engine }> {
  const a = await schemas.open();
  onTestFinished(() => a.close());
  return { a, b: await openBeside(a) };
}

async function run(engine: Engine, sql: string): Promise<void> {
  await runSql(schemas.urlOf(engine), sql);
}

it('hands out dense ids and numbers, whoever commits', async () => {
  const { a, b } = await openTwo();
  const { id } = await createContext(a);
  const sent = Array.from({ length: 60 }, (_, nth) =>
    (nth % 2 === 0 ? a : b).commit(appendBatch(id, `text ${nth}`)),
  );
  const committed = await Promise.all(sent);
  const ids = committed.map(({ turns }) => Number(turns[0]!.id)).toSorted((x, y) => x - y);
  expect(ids).toEqual(Array.from({ length: 60 }, (_, nth) => nth + 1));
  expect(new Set(committed.map(({ seq }) => seq)).size).toBe(60);
  const chain = await b.walkBack(toTurnId(60), 100);
  expect(chain.map((row) => row.depth)).toEqual(Array.from({ length: 60 }, (_, nth) => 59 - nth));
});

it('tells listeners of what other servers commit, in commit order', async () => {
  const { a, b } = await openTwo();
  const { id } = await createContext(b);
  const heard: Change[] = [];
  b.subscribe((change) => heard.push(change));
  await Promise.all([append(a, id, 'one'), append(b, id, 'two'), append(a, id, 'three')]);
  await vi.waitFor(() => expect(heard).toHaveLength(3), PATIENCE);
  const seqs = heard.map(({ seq }) => seq);
  expect(seqs).toEqual(seqs.toSorted((x, y) => x - y));
  expect(heard.flatMap(({ turns }) => turns.map((turn) => turn.id))).toEqual([1n, 2n, 3n]);
  expect(heard[0]!.heads[0]).toMatchObject({ id, head: 1n });
});

it('says that something went by when changes are gone before they were heard', async () => {
  const { a, b } = await openTwo();
  const { id } = await createContext(b);
  const heard: Change[] = [];
  const missed = vi.fn<() => void>();
  b.subscribe((change) => heard.push(change), missed);
  await append(a, id, 'first');
  await vi.waitFor(() => expect(heard).toHaveLength(1), PATIENCE);
  await run(a, `UPDATE clock SET seq = seq + 5`);
  await append(a, id, 'later');
  await vi.waitFor(() => expect(missed).toHaveBeenCalledOnce(), PATIENCE);
  await vi.waitFor(() => expect(heard).toHaveLength(2), PATIENCE);
});

it('leaves the turns alone that another server streams into, and ends them when it is gone', async () => {
  const { a } = await openTwo();
  const { id } = await createContext(a);
  const turn = await openTurn(a, id);
  await a.commit({ deltas: [{ turn: turn.id, offset: 0, bytes: Buffer.from('so far') }] });
  const other = await openBeside(a);
  expect(await other.getOpenTurn(turn.id)).toMatchObject({ row: { size: 6 } });
  // Whoever writes next answers for it: the first server may go.
  await other.commit({ deltas: [{ turn: turn.id, offset: 6, bytes: Buffer.from(', on') }] });
  await a.close();
  expect(await (await openBeside(a)).getOpenTurn(turn.id)).toBeDefined();
  await other.close();
  const last = await openBeside(a);
  expect(await last.getOpenTurn(turn.id)).toBeUndefined();
  const sealed = await last.getTurn(turn.id);
  expect(sealed).toMatchObject({ flags: TurnFlag.INTERRUPTED, size: 10 });
  expect(Buffer.from((await last.getBlob(sealed!.payload!))!).toString()).toBe('so far, on');
});

it('ends the turns of a server that was not seen for a while', async () => {
  const { a } = await openTwo();
  const { id } = await createContext(a);
  const turn = await openTurn(a, id);
  await run(a, `UPDATE open_turns SET owner = '00000000-0000-0000-0000-000000000000'`);
  expect(await (await openBeside(a)).getOpenTurn(turn.id)).toBeUndefined();
});

/** A collection on one server, a commit on another that builds on what is about to go. */
async function collectBeside(losesNotes: boolean): Promise<{ kept: string[]; turn: boolean }> {
  const { a, b } = await openTwo();
  const id = await orphanTurns(a, 'a', 'b');
  const ears = new Ears();
  const collection = await ears.start(a, 0);
  await append(b, id, 'a', { parent: toTurnId(1) });
  if (losesNotes) await run(a, 'DELETE FROM collection_notes');
  await sweep(collection, ears);
  return { kept: await held(b, 'a', 'b'), turn: (await b.getTurn(toTurnId(1))) !== undefined };
}

it('collects nothing that a commit on another server builds on', async () => {
  expect(await collectBeside(false)).toEqual({ kept: ['a'], turn: true });
});

it('would collect it if the other server did not say so', async () => {
  expect(await collectBeside(true)).toMatchObject({ turn: false });
});

/** A collection on one server, for which commits on both say what they need in words of their own. */
async function collectByWord(listens: boolean): Promise<string[]> {
  const { a, b } = await openTwo();
  await a.commit({ blobs: [blobOf('here'), blobOf('there'), blobOf('dead')] });
  const needed = new Set<string>();
  const change = ({ docs }: Change): void => {
    for (const { content } of docs) needed.add(blobOf(JSON.parse(content) as string).hash);
  };
  const reliance = { blob: () => undefined, turn: () => undefined, ...(listens && { change }) };
  const collection = await a.upkeep.startCollection({ graceMs: 0, reliance });
  const say = (text: string): { name: string; content: string }[] => [
    { name: `${text}.json`, content: JSON.stringify(text) },
  ];
  await a.commit({ docs: say('here') });
  await b.commit({ docs: say('there') });
  const isLive = (hash: Hash): boolean => needed.has(hash);
  await collection.sweep({ isLive, isLiveTurn: () => true, deadShare: 0 });
  await collection.end();
  return held(b, 'here', 'there', 'dead');
}

it('has told a collection of every commit before that takes anything', async () => {
  expect(await collectByWord(true)).toEqual(['here', 'there']);
});

it('would take what is needed if listeners alone were told, who hear of it later', async () => {
  expect(await collectByWord(false)).toEqual([]);
});

it('runs one collection at a time, over all servers, and takes over from one that is gone', async () => {
  const { a, b } = await openTwo();
  await a.commit({ blobs: [blobOf('dead')] });
  const ears = new Ears();
  const stale = await ears.start(a, 0);
  await expect(new Ears().start(b)).rejects.toMatchObject({ code: 'LOCKED' });
  await run(a, `UPDATE clock SET upkeep_owner = '00000000-0000-0000-0000-000000000000'`);
  const collection = await new Ears().start(b, 0);
  // The first one was only slow: what it would take away is no longer its business.
  await expect(sweep(stale, ears)).rejects.toMatchObject({ code: 'LOCKED' });
  await collection.end();
});

it('keeps a streamed turn in its tree, however far its parent is from where it jumps', async () => {
  const { a, b } = await openTwo();
  const { id } = await createContext(a);
  for (let depth = 0; depth < 8; depth += 1) {
    const turn = await openTurn(a, id);
    await b.commit({ deltas: [{ turn: turn.id, offset: 0, bytes: Buffer.from('x') }] });
    await sealTurn(b, turn.id, 'x');
  }
  expect(await a.walkBack(toTurnId(8), 9)).toHaveLength(8);
  expect((await a.upkeep.check({ repair: false })).problems).toEqual([]);
});

/** What is left of the changes of the first of two servers, a while after it is gone, for the other one to clear away. */
async function leaveChanges(losesTimers: boolean): Promise<number> {
  const { a, b } = await openTwo();
  const { id } = await createContext(a);
  await append(a, id, 'one');
  await a.close();
  await run(b, `UPDATE changes SET at = at - interval '2 minutes'`);
  // Neither of them commits any more.
  if (!losesTimers) vi.advanceTimersByTime(15_000);
  const count = async (): Promise<number> =>
    Number((await runSql(schemas.urlOf(b), 'SELECT count(*) FROM changes'))[0]!['count']);
  const isCleared = async (): Promise<true> => ((await count()) === 0 ? true : Promise.reject());
  await vi.waitFor(isCleared, losesTimers ? 1000 : PATIENCE).catch(() => undefined);
  return count();
}

it('clears changes away that are old, also when nobody commits', async () => {
  vi.useFakeTimers({ toFake: ['setInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  expect(await leaveChanges(false)).toBe(0);
});

it('would leave them if nobody looked after them', async () => {
  vi.useFakeTimers({ toFake: ['setInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  expect(await leaveChanges(true)).toBe(2);
});

it('clears nothing away that is young, or that a collection has to know of', async () => {
  vi.useFakeTimers({ toFake: ['setInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const { a } = await openTwo();
  await createContext(a);
  const collection = await new Ears().start(a, 0);
  await createContext(a);
  await run(a, `UPDATE changes SET at = at - interval '2 minutes'`);
  vi.advanceTimersByTime(15_000);
  await append(a, (await createContext(a)).id, 'later');
  const count = `SELECT count(*)::int AS count FROM changes`;
  expect(await runSql(schemas.urlOf(a), count)).toEqual([{ count: 4 }]);
  await collection.end();
  vi.advanceTimersByTime(15_000);
  await vi.waitFor(
    async () => expect(await runSql(schemas.urlOf(a), count)).toEqual([{ count: 2 }]),
    PATIENCE,
  );
});
