import { describe, expect, it } from 'vitest';
import { failure } from '../../src/testing/engine-suite/fixture.ts';
import { countBlobs } from '../../src/testing/store-suite/fixture.ts';
import { one } from '../../src/testing/workflow-suite/bundle-source.ts';
import { openWorkflows } from '../../src/testing/workflow-suite/fixture.ts';
import { createWorkflows } from '../../src/workflow/create-workflows.ts';
import { filesTarget } from '../support/files-target.ts';

// About code that is wrong: whatever store is behind has no part in it.

const target = filesTarget();

describe('a role that fails', () => {
  const failing: Record<string, [string, RegExp]> = {
    throws: [`a: () => { throw new TypeError('oh') }, b: () => ''`, /TypeError: oh/],
    'names what is not stored': [
      `a: () => 'see quipu:${'a'.repeat(64)}', b: () => ''`,
      /quipu:a+, which is not stored/,
    ],
    'returns nonsense': [`a: () => 5, b: () => ''`, /returned number/],
    'ends its thread': [`a: () => process.exit(3), b: () => ''`, /ended its thread/],
    'names a role that is none': [`a: () => 'a', b: () => ''`, /"c" is no role/],
  };

  it.each(Object.entries(failing))(
    '%s ends the thread with 1 and says why',
    async (name, [roles, why]) => {
      const { workflows } = (await openWorkflows(target)).store;
      const source = name.startsWith('names a role')
        ? one(roles).replace("yield 'a'", "yield 'c'")
        : one(roles);
      await workflows.bundles.add(source);
      const result = await workflows.run('one', { prompt: 'go' });
      expect(result).toMatchObject({ state: 'completed', returnCode: 1 });
      expect(result.summary).toMatch(why);
    },
  );

  it('may loop for ever: its time ends, and nothing else does', async () => {
    const { workflows } = (await openWorkflows(target)).store;
    const source = one(`a: () => { for (;;); }, b: () => ''`).replace(
      'a: {}',
      'a: { timeoutMs: 200 }',
    );
    await workflows.bundles.add(source);
    const result = await workflows.run('one', { prompt: 'go' });
    expect(result).toMatchObject({
      returnCode: 1,
      summary: 'the role a took longer than 200 ms',
    });
  });

  it('fails with its command, and time ends that too', async () => {
    const { workflows } = (await openWorkflows(target)).store;
    const bundle = (command: string, timeoutMs: number): string => `
    export const descriptor = { name: 'shell', roles: { a: { command: ${JSON.stringify(command)}, timeoutMs: ${timeoutMs} } } };
    export const table = { __start__: 'a', a: '__end__' };`;
    await workflows.bundles.add(bundle('echo why >&2; exit 3', 15_000));
    expect(await workflows.run('shell', { prompt: '' })).toMatchObject({
      returnCode: 1,
      summary: 'the command ended with 3: why',
    });
    await workflows.bundles.add(bundle('exit 4', 15_000));
    expect((await workflows.run('shell', { prompt: '' })).summary).toBe(
      'the command ended with 4, and its standard error is empty',
    );
    await workflows.bundles.add(bundle('sleep 30 & wait', 300));
    expect((await workflows.run('shell', { prompt: '' })).summary).toMatch(
      /took longer than 300 ms/,
    );
  });
});

describe('what is no bundle', () => {
  const wrong: Record<string, [string, RegExp]> = {
    'does not parse': ['export const = 1', /SyntaxError/],
    'exports nothing': ['const x = 1;', /descriptor must be an object/],
    'throws when loaded': ['throw new Error("no")', /Error: no/],
    'has a role that nothing does': [
      `export const descriptor = { name: 'x', roles: { a: {} } }; export const table = { __start__: 'a', a: '__end__' };`,
      /exactly one of these/,
    ],
    'leads to an unknown role': [
      `export const descriptor = { name: 'x', roles: { a: { command: 'x' } } }; export const table = { __start__: 'b' };`,
      /b, which is no role/,
    ],
    'has neither run nor table': [
      `export const descriptor = { name: 'x', roles: { a: { command: 'x' } } };`,
      /`run` or an object `table`/,
    ],
    'has a schema beyond what is known': [
      `export const descriptor = { name: 'x', roles: { a: { command: 'x', schema: { $ref: '#' } } } }; export function* run() {}`,
      /\$ref; known are/,
    ],
  };

  it.each(Object.entries(wrong))('%s', async (_, [source, why]) => {
    const { engine, store } = await openWorkflows(target);
    const error = await failure(store.workflows.bundles.add(source), 'INVALID');
    expect(error.message).toMatch(why);
    expect(await countBlobs(engine)).toBe(0);
  });
});

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
    const workflows = createWorkflows(engine);
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
      await failure(createWorkflows(engine, LIMIT).resume(run.threadId), 'INVALID');
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

  it.each(Object.entries(looping))(
    '%s ends with 1 behind what was done',
    async (_, [source, who]) => {
      const { engine } = await openWorkflows(target);
      await createWorkflows(engine).bundles.add(source);
      const expectLimit = async (quickMs: number): Promise<void> => {
        const workflows = createWorkflows(engine, { quickMs });
        const result = await workflows.run('one', { prompt: '' });
        const summary = `${who} took longer than ${quickMs} ms`;
        expect(result).toMatchObject({ returnCode: 1, summary });
        const { steps } = await workflows.steps(result.threadId);
        expect(steps.map(({ role }) => role)).toEqual(['a', '__end__']);
      };
      // Where a thread takes longer than that to come up, it gets more time.
      await expectLimit(LIMIT.quickMs).catch(() => expectLimit(12 * LIMIT.quickMs));
    },
  );
});
