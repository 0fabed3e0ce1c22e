import { describe, expect, it } from 'vitest';
import type { Batch, Committed } from '../../src/engine/batch.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { decodeDocRecord, docRecordLength } from '../../src/format/doc-record.ts';
import { exploreCrashes, type CrashCount } from '../../src/testing/disk/explore-crashes.ts';
import { MemoryIo } from '../../src/testing/disk/memory-io.ts';
import { withChanges } from '../../src/testing/with-changes.ts';
import { BUNDLE } from '../../src/testing/workflow-suite/fixture.ts';
import { createWorkflows } from '../../src/workflow/create-workflows.ts';
import { eachBundle, eachHistory } from '../../src/workflow/home/documents.ts';
import { readIndex, parseHistoryLine } from '../../src/workflow/threads/thread-docs.ts';
import { openStore, STORE } from '../crash/open-store.ts';

/*
 * Invariant: after a crash at any point of start, step, fork, compact and end, every thread is in exactly
 * one of threads.json and the history, the node that finds it says the same, its chain is whole with every
 * blob it leads to, and every acknowledged step is in it. A step that was not acknowledged may be there
 * whole; half of one never is.
 */

interface Fact {
  readonly thread: string;
  /** Steps acknowledged so far. */
  readonly steps: number;
  readonly ended: boolean;
}

type Wrap = (engine: Engine) => Engine;

async function live(disk: MemoryIo, note: (fact: Fact) => void, wrap: Wrap): Promise<void> {
  let now = Date.UTC(2026, 10, 15);
  const clock = (): number => (now += 1000);
  const engine = await openStore(disk, clock);
  const workflows = createWorkflows(wrap(engine), { clock });
  const { id } = await workflows.start({
    name: 'crash',
    bundle: BUNDLE,
    prompt: 'p',
    maxRounds: 10_000,
  });
  const told = (thread: string, steps: number, ended = false): void =>
    note({ thread, steps, ended });
  told(id, 0);
  await workflows.step(id, { role: 'a', content: 'one' });
  told(id, 1);
  await workflows.step(id, { role: 'b', content: 'two' });
  told(id, 2);
  const fork = await workflows.fork(id, { at: 0 });
  told(fork.id, 1);
  await workflows.compact(id, 'summary');
  told(id, 3);
  await workflows.step(fork.id, { role: 'c', content: 'three' });
  told(fork.id, 2);
  await workflows.end(id, { summary: 'done' });
  told(id, 4, true);
  await workflows.end(fork.id, { returnCode: 1 });
  told(fork.id, 3, true);
  await engine.close();
}

async function check(disk: MemoryIo, facts: readonly Fact[]): Promise<void> {
  const engine = await openStore(disk, () => 0);
  const workflows = createWorkflows(engine);
  const places = new Map<string, string[]>();
  const add = (id: string, place: string): void =>
    void places.set(id, [...(places.get(id) ?? []), place]);
  for await (const bundle of eachBundle(engine)) {
    for (const id of (await readIndex(engine, bundle)).value.keys()) add(id, 'active');
    for await (const name of eachHistory(engine, bundle)) {
      for (const line of await engine.readLog(name, 0, 100))
        add(parseHistoryLine(name, line).threadId, 'completed');
    }
  }
  for (const [id, found] of places) {
    expect(found, id).toHaveLength(1);
    const thread = (await workflows.get(id))!;
    expect(thread.state).toBe(found[0]);
    const known = facts.filter(({ thread: of }) => of === id).at(-1) ?? { steps: 0, ended: false };
    const { steps } = await workflows.steps(id);
    expect(steps.length).toBeGreaterThanOrEqual(known.steps);
    expect(steps.length).toBeLessThanOrEqual(known.steps + 1);
    if (known.ended) expect(thread.state).toBe('completed');
    await workflows.findReachableHashes([thread.head, thread.start]);
  }
  for (const { thread } of facts) expect([...places.keys()]).toContain(thread);
  await engine.close();
}

async function makeStart(): Promise<MemoryIo> {
  const disk = new MemoryIo();
  await disk.mkdir(STORE);
  const engine = await openStore(disk, () => 0);
  const workflows = createWorkflows(engine, { clock: () => 0 });
  // With some threads under way the index is long enough to be written as differences.
  for (let n = 0; n < 5; n += 1) {
    await workflows.start({ name: 'other', bundle: BUNDLE, prompt: 'p', maxRounds: 10_000 });
  }
  await engine.close();
  return disk.copy();
}

/** How many versions of documents the workload writes as what differs from the one before. */
async function countDifferences(): Promise<number> {
  const disk = (await makeStart()).copy();
  await live(
    disk,
    () => undefined,
    (engine) => engine,
  );
  const file = await disk.open(`${STORE}/docs/docs.log`, 'read');
  const bytes = Buffer.alloc(await file.size());
  await file.read(bytes, 0);
  let [count, at] = [0, bytes.indexOf('QDRC')];
  for (; at !== -1; at = bytes.indexOf('QDRC', at + 1)) {
    const length = docRecordLength(bytes.subarray(at)) ?? 0;
    if (decodeDocRecord(bytes.subarray(at, at + length))?.difference === true) count += 1;
  }
  return count;
}

async function explore(wrap: Wrap): Promise<CrashCount> {
  const start = await makeStart();
  return exploreCrashes<Fact>({
    seed: 7,
    statesPerPoint: 2,
    start,
    run: (disk, note) => live(disk, note, wrap),
    check,
  });
}

/** What a store without atomic batches would do: parts one after the other. */
function inParts(engine: Engine): Engine {
  return withChanges(engine, {
    async commit({ docs = [], ...rest }: Batch): Promise<Committed> {
      await engine.commit(rest);
      for (const doc of docs.slice(0, -1)) await engine.commit({ docs: [doc] });
      return engine.commit({ docs: docs.slice(-1) });
    },
  });
}

describe('a crash at any point of a thread', () => {
  it('leaves every thread whole and in one place', { timeout: 60_000 }, async () => {
    const count = await explore((engine) => engine);
    expect(count.states).toBeGreaterThan(100);
  });

  it('comes while the index is written as differences', async () => {
    expect(await countDifferences()).toBeGreaterThan(5);
  });

  it('is noticed when a transition is more than one commit', async () => {
    await expect(explore(inParts)).rejects.toThrow(/crash before/);
  });
});
