import { describe, expect, it } from 'vitest';
import { encodeUtf8 } from '../../base/text.ts';
import type { RunResult, Workflows } from '../../workflow/threads/workflows.ts';
import { failure } from '../engine-suite/fixture.ts';
import { Gate, one } from './bundle-source.ts';
import { countBlobs } from '../store-suite/fixture.ts';
import type { StoreTarget } from '../store-suite/store-target.ts';
import { openWorkflows } from './fixture.ts';

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

async function contents(workflows: Workflows, id: string): Promise<(string | undefined)[]> {
  return (await workflows.steps(id)).steps.map(({ role, content }) => `${role}: ${content}`);
}

export function runSuite(target: StoreTarget): void {
  describe('running a bundle', () => {
    it('follows a table with functions, commands and conditions', async () => {
      const { engine, store } = await openWorkflows(target);
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
      const { workflows } = (await openWorkflows(target)).store;
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
      const { workflows } = (await openWorkflows(target)).store;
      await workflows.bundles.add(one(`a: () => 'a', b: () => 'b'`));
      const result = await workflows.run('one', { prompt: 'go', maxRounds: 1 });
      expect(result).toMatchObject({ state: 'completed', returnCode: 2 });
      expect(await contents(workflows, result.threadId)).toEqual([
        'a: a',
        '__end__: all 1 rounds are used up; b was next',
      ]);
    });

    it('resumes after the last recorded step and runs none of them again', async () => {
      const { store } = await openWorkflows(target);
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
      const { workflows } = (await openWorkflows(target)).store;
      const gate = new Gate();
      await workflows.bundles.add(
        one(`a: ${gate.role('a')}, b: () => new Promise(() => setInterval(() => {}, 1000))`),
      );
      const paused = await workflows.run('one', {
        prompt: 'go',
        onStart: (id) => void workflows.pause(id).then(() => gate.open()),
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
      const { workflows } = (await openWorkflows(target)).store;
      const ids: string[] = [];
      /** Runs a bundle whose second role is at work until somebody else did this to the thread. */
      const runBeside = async (act: (id: string) => Promise<unknown>): Promise<RunResult> => {
        const gate = new Gate();
        await workflows.bundles.add(one(`a: () => 'a', b: ${gate.role('b')}`));
        const onStart = (id: string): void => void ids.push(id);
        const running = workflows.run('one', { prompt: 'go', onStart });
        await gate.reached();
        await act(ids.at(-1)!);
        gate.open();
        return running;
      };
      const result = await runBeside((id) => workflows.compact(id, 'short'));
      expect(result.returnCode).toBe(0);
      const { steps } = await workflows.steps(result.threadId);
      expect(steps.map(({ role }) => role)).toEqual(['a', '__compact__', 'b', '__end__']);
      const stolen = runBeside((id) => workflows.step(id, { role: 'x', content: '' }));
      await failure(stolen, 'HEAD_MOVED');
      expect((await workflows.get(ids[1]!))?.state).toBe('active');
    });

    it('runs a child as a step, and finds it again after an interruption', async () => {
      const { workflows } = (await openWorkflows(target)).store;
      const gate = new Gate();
      await workflows.bundles.add(
        one(`a: ({ prompt }) => 'child of ' + prompt, b: ${gate.role('grown')}`),
      );
      await workflows.bundles.add(`
      export const descriptor = { name: 'parent', roles: { ask: {}, child: { workflow: 'one' }, squeeze: { compact: true } } };
      export const roles = { ask: () => 'a question', squeeze: ({ steps }) => steps.length + ' steps' };
      export const table = { __start__: 'ask', ask: 'child', child: 'squeeze', squeeze: '__end__' };
    `);
      const stop = new AbortController();
      const running = workflows.run('parent', { prompt: 'go', signal: stop.signal });
      await gate.reached();
      stop.abort();
      const first = await running;
      expect(first.state).toBe('interrupted');
      gate.open();
      const result = await workflows.resume(first.threadId);
      expect(result).toMatchObject({ state: 'completed', returnCode: 0 });
      const { items } = await workflows.list({ state: 'all' });
      expect(items).toHaveLength(2);
      const { steps } = await workflows.steps(first.threadId);
      const child = items.find(({ id }) => id !== first.threadId)!;
      expect(steps[1]).toMatchObject({
        childThread: child.id,
        content: 'grown',
        refs: [child.head],
      });
      expect((await workflows.context(child.id)).start).toMatchObject({
        depth: 1,
        parentState: steps[0]?.hash,
        prompt: 'a question',
      });
      expect((await workflows.context(first.threadId)).summary).toBe('2 steps');
    });
  });

  describe('a child that fails', () => {
    const child = `
      export const descriptor = { name: 'child', roles: { a: {} } };
      export const roles = { a: () => { throw new Error('no luck'); } };
      export const table = { __start__: 'a', a: '__end__' };`;
    const parent = (rules: string): string => `
      export const descriptor = { name: 'parent', roles: { child: { workflow: 'child' }, after: {} } };
      export const roles = { after: ({ steps }) => 'after ' + steps.at(-1).meta.returnCode };
      export const table = { __start__: 'child', child: ${rules}, after: '__end__' };`;

    it.each([
      ['a plain target', `'after'`],
      ['a rule without a condition', `[{ to: 'after' }]`],
      ['conditions that do not fit', `[{ when: { returnCode: 7 }, to: 'after' }, { to: 'after' }]`],
    ])('fails its caller, whose table has %s', async (_, rules) => {
      const { workflows } = (await openWorkflows(target)).store;
      await workflows.bundles.add(child);
      await workflows.bundles.add(parent(rules));
      const result = await workflows.run('parent', { prompt: 'go' });
      expect(result).toMatchObject({ state: 'completed', returnCode: 1 });
      expect(result.summary).toMatch(/^the workflow of child \(thread \w{26}\) ended with 1: /);
      expect(result.summary).toContain('no luck');
      const { steps } = await workflows.steps(result.threadId);
      expect(steps.map(({ role }) => role)).toEqual(['child', '__end__']);
      expect(steps[0]).toMatchObject({ meta: { returnCode: 1 } });
    });

    it.each([
      ['fields', `[{ when: { returnCode: 1 }, to: 'after' }, { to: '__end__' }]`],
      ['a function', `[{ when: (last) => last.meta.returnCode !== 0, to: 'after' }]`],
    ])('leaves it to a rule of the table with %s', async (_, rules) => {
      const { workflows } = (await openWorkflows(target)).store;
      await workflows.bundles.add(child);
      await workflows.bundles.add(parent(rules));
      const result = await workflows.run('parent', { prompt: 'go' });
      expect(result).toMatchObject({ returnCode: 0, summary: 'after 1' });
    });
  });

  describe('a bundle that imports a file', () => {
    it('is refused by its name, without its text in base64', async () => {
      const { bundles } = (await openWorkflows(target)).store.workflows;
      const source = one(`a: () => help, b: () => ''`, `import { help } from './help.mjs';`);
      const { message } = await failure(bundles.add(source, { file: 'work/solve.mjs' }), 'INVALID');
      expect(message).toContain('work/solve.mjs does not load');
      expect(message).toContain('./help.mjs');
      expect(message).toContain('a bundle is one file');
      expect(message).not.toContain('base64');
      const plain = await failure(bundles.add(source), 'INVALID');
      expect(plain.message).toMatch(/^the bundle does not load/);
    });
  });

  describe('what a role says about an artifact of a session', () => {
    const saying = (text: string): string => one(`a: () => ${JSON.stringify(text)}, b: () => ''`);

    it('is kept as a blob with the step, also when the session is gone', async () => {
      const { engine, store } = await openWorkflows(target);
      await using session = await store.sessions.create({ inMemory: true });
      const { id } = await session.saveArtifact('a long log', 'bash');
      await store.workflows.bundles.add(saying(`It failed, see artifact://${id}.`));
      const { threadId, returnCode } = await store.workflows.run('one', { prompt: 'go' });
      expect(returnCode).toBe(0);
      await session.close();
      const [ref] = (await store.workflows.steps(threadId)).steps[0]!.refs!;
      expect(Buffer.from((await engine.getBlob(ref!))!).toString()).toBe('a long log');
      await store.maintain.gc({ graceMs: 0, all: true });
      expect(await store.blobs.has(ref!)).toBe(true);
    });

    it('is the error of the step when there is none', async () => {
      const { sessions, workflows } = (await openWorkflows(target)).store;
      await workflows.bundles.add(saying('see artifact://7'));
      const fails = async (why: string, session?: string): Promise<void> => {
        const given = session === undefined ? {} : { session };
        const result = await workflows.run('one', { prompt: 'go', ...given });
        expect(result).toMatchObject({ returnCode: 1 });
        expect(result.summary).toContain(`the output refers to artifact://7: ${why}`);
      };
      await fails('No session - artifacts unavailable');
      await using session = await sessions.create({ inMemory: true });
      await session.saveArtifact('x', 'bash');
      await fails('Artifact 7 not found. Available: 0');
      await fails('there is no session', 'nobody');
      await failure(workflows.run('one', { prompt: '', session: 5 as never }), 'INVALID');
    });
  });

  describe('the registry', () => {
    it('keeps what a name stood for, and goes back', async () => {
      const { engine, store } = await openWorkflows(target);
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
      expect(await countBlobs(engine)).toBe(2);
      const other = await bundles.add(encodeUtf8(first), { name: 'other' });
      expect(other.hash).toBe(hash);
      await failure(bundles.rollback('other'), 'INVALID');
      await failure(bundles.rollback('one', 'f'.repeat(64)), 'NOT_FOUND');
      await bundles.remove('one');
      await failure(store.workflows.run('one', { prompt: '' }), 'NOT_FOUND');
      expect(await bundles.get('one')).toBeUndefined();
    });
  });
}
