import { describe, expect, it } from 'vitest';
import { failure } from '../../src/testing/engine-suite/fixture.ts';
import { countBlobs } from '../../src/testing/store-suite/fixture.ts';
import { one } from '../../src/testing/workflow-suite/bundle-source.ts';
import { openWorkflows } from '../../src/testing/workflow-suite/fixture.ts';
import { createWorkflows } from '../../src/workflow/create-workflows.ts';
import { filesTarget } from '../support/files-target.ts';

// About time and threads: whatever store is behind has no part in it.

const target = filesTarget();

describe('a bundle that loops for ever', () => {
  // Enough for a thread to come up on a machine with much else to do.
  const LIMIT = { quickMs: 800 };
  const LOOP = 'for (;;);';

  it('while it is loaded is refused, and nothing is stored', async () => {
    const { engine } = await openWorkflows(target);
    const workflows = createWorkflows(engine, LIMIT);
    const error = await failure(workflows.bundles.add(LOOP), 'INVALID');
    expect(error.message).toBe('the bundle does not load: it took longer than 800 ms');
    expect(await countBlobs(engine)).toBe(0);
    expect(await workflows.bundles.list()).toEqual([]);
  });

  it('only now and then, while it is loaded, leaves its thread to be resumed', async () => {
    const { engine } = await openWorkflows(target);
    const workflows = createWorkflows(engine, LIMIT);
    const flag = 'QUIPU_TEST_LOOPS';
    await workflows.bundles.add(
      one(`a: () => 'a', b: () => 'b'`, `if (process.env.${flag}) ${LOOP}`),
    );
    const stop = new AbortController();
    const onStep = (): void => stop.abort();
    const run = await workflows.run('one', { prompt: '', signal: stop.signal, onStep });
    expect(run.state).toBe('interrupted');
    process.env[flag] = '1';
    try {
      await failure(workflows.resume(run.threadId), 'INVALID');
    } finally {
      delete process.env[flag];
    }
    expect((await workflows.list()).items).toMatchObject([{ id: run.threadId, state: 'active' }]);
    expect(await workflows.resume(run.threadId)).toMatchObject({ returnCode: 0 });
    expect((await workflows.steps(run.threadId)).steps).toHaveLength(3);
  });

  const roles = `a: () => 'a', b: () => 'b'`;
  const looping: Record<string, [string, string]> = {
    'in its generator': [one(roles).replace('const b =', `${LOOP} const b =`), 'the generator'],
    'without ever yielding': [
      one(roles).replace('const b =', 'await new Promise(() => {}); const b ='),
      'the generator',
    ],
    'in a condition of its table': [
      `export const descriptor = { name: 'one', roles: { a: {} } };
       export const roles = { a: () => 'a' };
       export const table = { __start__: 'a', a: [{ when: () => { ${LOOP} }, to: '__end__' }] };`,
      'the table',
    ],
  };

  it.each(Object.entries(looping))('%s ends with 1 behind what was done', async (_, given) => {
    const [source, who] = given;
    const workflows = createWorkflows((await openWorkflows(target)).engine, LIMIT);
    await workflows.bundles.add(source);
    const result = await workflows.run('one', { prompt: '' });
    const summary = `${who} took longer than 800 ms`;
    expect(result).toMatchObject({ returnCode: 1, summary });
    const { steps } = await workflows.steps(result.threadId);
    expect(steps.map(({ role }) => role)).toEqual(['a', '__end__']);
  });
});
