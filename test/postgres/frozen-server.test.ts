import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { ContextId } from '../../src/base/brand.ts';
import { openDatabase } from '../../src/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { PATIENCE } from '../../src/testing/patience.ts';
import { projectPath } from '../support/project.ts';
import { freshDatabase } from '../support/postgres/fresh-database.ts';
import { runSql } from '../support/postgres/run-sql.ts';
import { Pooler } from '../support/postgres/pooler.ts';

/*
 * Invariant: a server that stands still while it holds the clock keeps the others from committing for two seconds at
 * most, whatever stands between it and the database; its own commit is there once, or known not to be.
 */

/** Two seconds, and what a busy machine adds. */
const OTHERS_WAIT_MS = 8000;

async function startHolder(url: string, context: ContextId, how: string): Promise<ChildProcess> {
  const script = projectPath('test/postgres/holder.mjs');
  const args = [script, url, String(context), how];
  const child = spawn(process.execPath, args, { stdio: 'inherit' });
  onTestFinished(() => void child.kill('SIGKILL'));
  await vi.waitFor(() => {
    const stat = readFileSync(`/proc/${child.pid}/stat`, 'utf8');
    expect(stat.slice(stat.lastIndexOf(')') + 2, stat.lastIndexOf(')') + 3)).toBe('T');
  }, PATIENCE);
  return child;
}

async function open(url: string): Promise<Store> {
  const store = await openDatabase(url, { connections: 3 });
  onTestFinished(() => store.close());
  return store;
}

async function textsOf(store: Store, context: ContextId): Promise<unknown[]> {
  const { turns } = await store.contexts.last(context, 100);
  return turns.map(({ payload }) => payload);
}

async function append(store: Store, context: ContextId): Promise<number> {
  const started = performance.now();
  await store.contexts.append(context, { type: 'note', payload: 'of another' });
  return performance.now() - started;
}

it.each(['directly', 'by a pooler'])('lets go of the clock when it is reached %s', async (way) => {
  const url = await freshDatabase();
  const pooler = await Pooler.start(url);
  onTestFinished(() => pooler.close());
  const store = await open(url);
  const { id } = await store.contexts.create();
  const holder = await startHolder(way === 'directly' ? url : pooler.url, id, 'bounded');
  expect(await append(store, id)).toBeLessThan(OTHERS_WAIT_MS);
  const ended = once(holder, 'exit');
  holder.kill('SIGCONT');
  expect(await ended).toEqual([0, null]);
  expect(await textsOf(store, id)).toEqual(['of another', 'of the one that stood still']);
});

it('holds no clock while it thinks', async () => {
  const url = await freshDatabase();
  const store = await open(url);
  const { id } = await store.contexts.create();
  const take = (): Promise<unknown> => runSql(url, 'SELECT seq FROM clock FOR UPDATE NOWAIT');
  const holder = await startHolder(url, id, 'thinking');
  expect(await take()).toHaveLength(1);
  await append(store, id);
  const ended = once(holder, 'exit');
  holder.kill('SIGCONT');
  expect(await ended).toEqual([0, null]);
  expect(await textsOf(store, id)).toEqual(['of another', 'of the one that stood still']);
  // One that took it first is found out.
  await startHolder(url, id, 'unbounded');
  await expect(take()).rejects.toThrow('could not obtain lock');
});

it('would keep the clock if nobody took it away', async () => {
  const url = await freshDatabase();
  const store = await open(url);
  const { id } = await store.contexts.create();
  const holder = await startHolder(url, id, 'unbounded');
  let waited: number | undefined;
  const appended = append(store, id).then((ms) => (waited = ms));
  await new Promise((resolve) => setTimeout(resolve, 4000));
  expect(waited).toBeUndefined();
  holder.kill('SIGKILL');
  await appended;
});
