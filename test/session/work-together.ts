import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import type { Store } from '../../src/store/store.ts';
import { projectPath } from '../support/project.ts';

const run = promisify(execFile);

interface Told {
  readonly entries: readonly string[];
  readonly artifacts: readonly { readonly id: string; readonly text: string }[];
  readonly agents: readonly string[];
}

/**
 * Processes of their own append to one session and save artifacts in it, while this one appends, too. Gives the
 * number of lines that cannot be read.
 */
export async function workTogether(
  store: Store,
  place: string,
  { workers, each }: { workers: number; each: number },
): Promise<number> {
  const session = await store.sessions.create();
  const start = async (_: unknown, number: number): Promise<Told> => {
    const args = [place, session.id, `worker${number}`, String(each), String(each)];
    const worker = projectPath('test/session/session-worker.mjs');
    return JSON.parse((await run(process.execPath, [worker, ...args])).stdout) as Told;
  };
  const working = Array.from({ length: workers }, start);
  const own: string[] = [];
  for (let n = 0; n < each; n++) own.push((await session.append({ type: 'x', id: `own-${n}` })).id);
  const told = await Promise.all(working);

  const { entries, malformedLines } = await session.load();
  const all = [...told.flatMap((worker) => worker.entries), ...own];
  expect(entries.map(({ id }) => id).toSorted()).toEqual(all.toSorted());
  const saved = told.flatMap((worker) => worker.artifacts);
  expect(new Set(saved.map(({ id }) => id)).size).toBe(workers * each);
  for (const { id, text } of saved) {
    expect((await session.resolve(`artifact://${id}`)).content).toBe(text);
  }
  const indices = told.flatMap(({ agents }) => agents.map((id) => Number.parseInt(id, 10)));
  expect(new Set(indices).size).toBe(2 * workers);
  return malformedLines;
}
