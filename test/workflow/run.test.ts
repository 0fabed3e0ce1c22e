import { describe, expect, it } from 'vitest';
import { encodeUtf8 } from '../../src/base/utf8.ts';
import type { Workflows } from '../../src/workflow/workflows.ts';
import { failure } from '../../src/testing/engine-suite/fixture.ts';
import { openModel } from './fixture.ts';

const TABLE = `
export const descriptor = {
  name: 'pair',
  description: 'Two who take turns.',
  roles: {
    writer: {},
    critic: { command: 'cat >/dev/null; echo "good enough"; echo \\'\\\`\\\`\\\`json\\'; echo \\'{"ok":true}\\'; echo \\'\\\`\\\`\\\`\\'', schema: { type: 'object', required: ['ok'], properties: { ok: { type: 'boolean' } } } },
  },
};
export const roles = {
  writer: ({ prompt, steps }) => ({ content: prompt + ' ' + steps.length, meta: { n: steps.length }, artifacts: ['draft ' + steps.length] }),
};
export const table = {
  __start__: 'writer',
  writer: [{ when: { n: 0 }, to: 'writer' }, { to: 'critic' }],
  critic: [{ when: (last) => last.meta.ok, to: '__end__' }, { to: 'writer' }],
};
`;

const one = (roles: string, more = ''): string => `
export const descriptor = { name: 'one', roles: { a: {}, b: {} } };
export const roles = { ${roles} };
export async function* run(context) { yield 'a'; const b = yield { role: 'b', prompt: 'and b' }; return b.content; }
${more}`;

async function contents(workflows: Workflows, id: string): Promise<(string | undefined)[]> {
  return (await workflows.steps(id)).steps.map(({ role, content }) => `${role}: ${content}`);
}

describe('running a bundle', () => {
  it('follows a table with functions, commands and conditions', async () => {
    const { engine, store } = openModel();
    const { workflows } = store;
    await workflows.bundles.add(TABLE);
    const result = await workflows.run('pair', { prompt: 'write' });
    expect(result).toMatchObject({ state: 'completed', returnCode: 0 });
    const { steps } = await workflows.steps(result.threadId);
    expect(steps.map(({ role }) => role)).toEqual(['writer', 'writer', 'critic', '__end__']);
    expect(steps[2]).toMatchObject({ meta: { ok: true } });
    const [artifact] = steps[1]?.refs ?? [];
    expect(Buffer.from((await engine.getBlob(artifact!))!).toString()).toBe('draft 1');
    const info = await workflows.info(result.threadId);
    expect(info.map(({ message }) => message)).toContain('critic begins');
  });

  it('follows a generator and gives it what the roles said', async () => {
    const { workflows } = openModel().store;
    await workflows.bundles.add(
      one(
        `a: () => { console.log('noise'); return 'first'; }, b: ({ prompt, steps }) => prompt + '/' + steps[0].content`,
      ),
    );
    const result = await workflows.run('one', { prompt: 'go' });
    expect(result).toMatchObject({ returnCode: 0, summary: 'go\n\nand b/first' });
    const info = await workflows.info(result.threadId);
    expect(info.some(({ message }) => message === 'noise\n')).toBe(true);
  });

  it('ends with 2 when the rounds are used up', async () => {
    const { workflows } = openModel().store;
    await workflows.bundles.add(one(`a: () => 'a', b: () => 'b'`));
    const result = await workflows.run('one', { prompt: 'go', maxRounds: 1 });
    expect(result).toMatchObject({ state: 'completed', returnCode: 2 });
    expect(await contents(workflows, result.threadId)).toEqual([
      'a: a',
      '__end__: all 1 rounds are used up; b was next',
    ]);
  });

  it('resumes after the last recorded step and runs none of them again', async () => {
    const { store } = openModel();
    const { workflows } = store;
    // A role that appends to its own prompt would show a second run; b waits to be stopped.
    await workflows.bundles.add(
      one(
        `a: () => 'a ' + Math.random(), b: ({ steps }) => steps.length > 1 ? 'b' : new Promise((done) => setTimeout(() => done('b'), 300))`,
      ),
    );
    const stop = new AbortController();
    const first = await workflows.run('one', {
      prompt: 'go',
      signal: stop.signal,
      onStep: () => stop.abort(),
    });
    expect(first.state).toBe('interrupted');
    const before = await contents(workflows, first.threadId);
    expect(before).toHaveLength(1);
    const second = await workflows.resume(first.threadId);
    expect(second).toMatchObject({ state: 'completed', returnCode: 0 });
    expect((await contents(workflows, first.threadId)).slice(0, 2)).toEqual([before[0], 'b: b']);
  });

  it('stops behind a step when paused, at once when killed or removed', async () => {
    const { workflows } = openModel().store;
    await workflows.bundles.add(
      one(`a: () => 'a', b: () => new Promise(() => setInterval(() => {}, 1000))`),
    );
    const paused = await workflows.run('one', {
      prompt: 'go',
      onStart: (id) => void workflows.pause(id),
    });
    expect(paused.state).toBe('paused');
    expect((await workflows.get(paused.threadId))?.state).toBe('paused');
    const killed = await workflows.resume(paused.threadId, {
      onStep: () => void setTimeout(() => void workflows.kill(paused.threadId, 'enough'), 50),
      onStart: (id) =>
        void setTimeout(() => void workflows.kill(id, 'enough').catch(() => undefined), 400),
    });
    expect(killed).toMatchObject({ state: 'completed', returnCode: 130, summary: 'enough' });
    const removed = await workflows.run('one', {
      prompt: 'go',
      onStep: () => void workflows.list().then(({ items }) => workflows.remove(items[0]!.id)),
    });
    expect(removed.state).toBe('removed');
  });

  it('goes on behind a summary that came while a role was at work, and behind nothing else', async () => {
    const { workflows } = openModel().store;
    const slow = `() => new Promise((done) => setTimeout(() => done('b'), 500))`;
    await workflows.bundles.add(one(`a: () => 'a', b: ${slow}`));
    const ids: string[] = [];
    const result = await workflows.run('one', {
      prompt: 'go',
      onStart: (id) => ids.push(id),
      onStep: ({ role }) => void (role === 'a' && workflows.compact(ids[0]!, 'short')),
    });
    expect(result.returnCode).toBe(0);
    const { steps } = await workflows.steps(result.threadId);
    expect(steps.map(({ role }) => role)).toEqual(['a', '__compact__', 'b', '__end__']);
    const stolen = workflows.run('one', {
      prompt: 'go',
      onStart: (id) => ids.push(id),
      onStep: ({ role }) =>
        void (
          role === 'a' &&
          setTimeout(() => void workflows.step(ids[1]!, { role: 'x', content: '' }), 60)
        ),
    });
    await failure(stolen, 'HEAD_MOVED');
    expect((await workflows.get(ids[1]!))?.state).toBe('active');
  });

  it('runs a child as a step, and finds it again after an interruption', async () => {
    const { workflows } = openModel().store;
    await workflows.bundles.add(
      one(
        `a: ({ prompt }) => 'child of ' + prompt, b: () => new Promise((done) => setTimeout(() => done('grown'), 200))`,
      ),
    );
    await workflows.bundles.add(`
      export const descriptor = { name: 'parent', roles: { ask: {}, child: { workflow: 'one' }, squeeze: { compact: true } } };
      export const roles = { ask: () => 'a question', squeeze: ({ steps }) => steps.length + ' steps' };
      export const table = { __start__: 'ask', ask: 'child', child: 'squeeze', squeeze: '__end__' };
    `);
    const stop = new AbortController();
    const first = await workflows.run('parent', {
      prompt: 'go',
      signal: stop.signal,
      onStep: () => void setTimeout(() => stop.abort(), 150),
    });
    expect(first.state).toBe('interrupted');
    const result = await workflows.resume(first.threadId);
    expect(result).toMatchObject({ state: 'completed', returnCode: 0 });
    const { items } = await workflows.list({ state: 'all' });
    expect(items).toHaveLength(2);
    const { steps } = await workflows.steps(first.threadId);
    const child = items.find(({ id }) => id !== first.threadId)!;
    expect(steps[1]).toMatchObject({ childThread: child.id, content: 'grown', refs: [child.head] });
    expect((await workflows.context(child.id)).start).toMatchObject({
      depth: 1,
      parentState: steps[0]?.hash,
      prompt: 'a question',
    });
    expect((await workflows.context(first.threadId)).summary).toBe('2 steps');
  });
});

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
      const { workflows } = openModel().store;
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
    const { workflows } = openModel().store;
    const source = one(`a: () => { for (;;); }, b: () => ''`).replace(
      'a: {}',
      'a: { timeoutMs: 200 }',
    );
    await workflows.bundles.add(source);
    const result = await workflows.run('one', { prompt: 'go' });
    expect(result).toMatchObject({ returnCode: 1, summary: 'took longer than 200 ms' });
  });

  it('fails with its command, and time ends that too', async () => {
    const { workflows } = openModel().store;
    const bundle = (command: string): string => `
      export const descriptor = { name: 'shell', roles: { a: { command: ${JSON.stringify(command)}, timeoutMs: 300 } } };
      export const table = { __start__: 'a', a: '__end__' };`;
    await workflows.bundles.add(bundle('echo why >&2; exit 3'));
    expect(await workflows.run('shell', { prompt: '' })).toMatchObject({
      returnCode: 1,
      summary: 'the command ended with 3: why',
    });
    await workflows.bundles.add(bundle('sleep 30 & wait'));
    expect((await workflows.run('shell', { prompt: '' })).summary).toMatch(
      /took longer than 300 ms/,
    );
  });
});

describe('what is no bundle', () => {
  const wrong: Record<string, [string, RegExp]> = {
    'does not parse': ['export const = 1', /SyntaxError/],
    'exports nothing': ['const x = 1;', /descriptor is an object/],
    'throws when loaded': ['throw new Error("no")', /Error: no/],
    'has a role that nothing does': [
      `export const descriptor = { name: 'x', roles: { a: {} } }; export const table = { __start__: 'a', a: '__end__' };`,
      /one way/,
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
    const { engine, store } = openModel();
    const error = await failure(store.workflows.bundles.add(source), 'INVALID');
    expect(error.message).toMatch(why);
    expect(engine.state.blobs.size).toBe(0);
  });
});

describe('the registry', () => {
  it('keeps what a name stood for, and goes back', async () => {
    const { engine, store } = openModel();
    const { bundles } = store.workflows;
    const [first, second] = [one(`a: () => '1', b: () => ''`), one(`a: () => '2', b: () => ''`)];
    const { hash } = await bundles.add(first);
    await bundles.add(second);
    await bundles.add(second);
    expect(await bundles.history('one')).toHaveLength(2);
    expect((await bundles.rollback('one')).hash).toBe(hash);
    expect(await bundles.source('one')).toBe(first);
    expect(await bundles.describe('one')).toMatchObject({ name: 'one' });
    expect((await bundles.list()).map(({ name }) => name)).toEqual(['one']);
    await store.maintain.gc({ graceMs: 0, all: true });
    expect(engine.state.blobs.size).toBe(2);
    const other = await bundles.add(encodeUtf8(first), { name: 'other' });
    expect(other.hash).toBe(hash);
    await failure(bundles.rollback('other'), 'INVALID');
    await failure(bundles.rollback('one', 'f'.repeat(64)), 'NOT_FOUND');
    await bundles.remove('one');
    await failure(store.workflows.run('one', { prompt: '' }), 'NOT_FOUND');
    expect(await bundles.get('one')).toBeUndefined();
  });
});
