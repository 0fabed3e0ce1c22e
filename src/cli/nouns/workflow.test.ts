import { CliRig, type Ran } from '../../../test/cli/rig.ts';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const BUNDLE = 'b'.repeat(64);
const SOURCE = `
export const descriptor = { name: 'two', description: 'Two roles.', roles: { a: {}, b: { command: 'echo b' } } };
export const roles = { a: ({ prompt }) => prompt };
export const table = { __start__: 'a', a: 'b', b: '__end__' };`;

function workflow(rig: CliRig, ...args: string[]): Promise<Ran> {
  return rig.run('workflow', ...args);
}

async function start(rig: CliRig): Promise<string> {
  const { out } = await workflow(rig, 'start', 'x', '--bundle', BUNDLE, '--prompt', 'p');
  return out.trimEnd();
}

describe('threads from the command line', () => {
  it('are started, stepped, forked, compacted, shown and ended', { timeout: 60_000 }, async () => {
    using rig = new CliRig();
    const id = await start(rig);
    const step = await rig.feed(
      'from a file',
      'workflow',
      'step',
      id,
      '--role',
      'r',
      '--content-file',
      '-',
      '--meta',
      '{"n":1}',
    );
    expect(step).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^[0-9a-f]{64}\n$/) as string,
    });
    const fork = (await workflow(rig, 'fork', id, '--at', '0')).out.trimEnd();
    expect((await workflow(rig, 'compact', id, '--summary', 'short')).code).toBe(0);
    const shown = await workflow(rig, 'show', id, '--context');
    expect(shown.out).toMatch(
      /^workflow {2}x\nprompt {4}p\nstate {5}active\n[^]*summary {3}short\n$/,
    );
    expect((await workflow(rig, 'show', fork)).out).toContain('r  from a file\n');
    const page = await workflow(rig, 'show', id, '-n', '1');
    expect(page.err).toMatch(/^more: --before [0-9a-f]{64}\n$/);
    await workflow(rig, 'pause', fork);
    expect((await workflow(rig, 'list')).out).toMatch(/^THREAD +STATE[^]*paused/);
    await workflow(rig, 'kill', fork, '--reason', 'no');
    await workflow(rig, 'end', id, '--code', '1', '--summary', 'so');
    const table = (await workflow(rig, 'list', '--completed')).out;
    expect(table).toMatch(/killed +130 .* x +p\n/);
    expect(table).toMatch(/failed +1 .* x +p\n/);
    expect((await workflow(rig, 'show', id)).out).toContain('return code  1\n');
    const done = await workflow(rig, 'list', '--completed', '--json');
    expect(done.out.trimEnd().split('\n')).toHaveLength(2);
    expect((await workflow(rig, 'live', fork, '--json')).out).toContain('"returnCode":130');
    expect(await workflow(rig, 'rm', id)).toMatchObject({ code: 0, out: '' });
    expect(await workflow(rig, 'show', id)).toMatchObject({ code: 1, out: '' });
  });

  it('refuse what makes no sense', async () => {
    using rig = new CliRig();
    const id = await start(rig);
    const missing = '0'.repeat(26);
    const wrong: [number, string[]][] = [
      [2, ['start', 'x', '--bundle', BUNDLE]],
      [2, ['start', 'x', '--bundle', BUNDLE, '--prompt', 'p', '--prompt-file', '-']],
      [2, ['step', id, '--content', 'c']],
      [2, ['step', id, '--role', 'r', '--content', 'c', '--meta', '{']],
      [2, ['compact', id, '--summary', 's', '--command', 'c']],
      [2, ['fork', 'nonsense']],
      [1, ['fork', id, '--at', 'nobody']],
      [1, ['resume', missing]],
      [1, ['run', 'unknown', '--prompt', 'p']],
      [1, ['add', 'nothing.mjs']],
    ];
    for (const [code, args] of wrong) {
      expect(await workflow(rig, ...args), args.join(' ')).toMatchObject({ code, out: '' });
    }
  });
});

describe('bundles from the command line', () => {
  it('are added, run, described, rolled back and removed', async () => {
    using rig = new CliRig();
    const file = join(rig.cwd, 'two.mjs');
    writeFileSync(file, SOURCE);
    const first = (await workflow(rig, 'add', 'two.mjs')).out.trimEnd();
    const ran = await workflow(rig, 'run', 'two', '--prompt', 'hello', '--json');
    expect(ran).toMatchObject({ code: 0, err: '' });
    expect(JSON.parse(ran.out)).toMatchObject({
      state: 'completed',
      returnCode: 0,
      summary: 'b\n',
    });
    const short = await workflow(rig, 'run', 'two', '--prompt', 'hello', '--max-rounds', '1');
    expect(short).toMatchObject({
      code: 1,
      err: expect.stringContaining('ended with 2') as string,
    });
    expect((await workflow(rig, 'show', short.out.trimEnd(), '--info')).out).toContain('a begins');
    writeFileSync(file, SOURCE.replace('=> prompt', '=> prompt + 1'));
    await workflow(rig, 'add', 'two.mjs');
    expect((await workflow(rig, 'history', 'two')).out.trimEnd().split('\n')).toHaveLength(3);
    expect((await workflow(rig, 'rollback', 'two')).out.trimEnd()).toBe(first);
    expect((await workflow(rig, 'show', 'two')).out).toMatch(/role b +echo b/);
    expect((await workflow(rig, 'list', '--bundles')).out).toMatch(/two .*Two roles\./);
    writeFileSync(file, 'export const = 1');
    expect(await workflow(rig, 'add', 'two.mjs')).toMatchObject({ code: 2, out: '' });
    expect((await workflow(rig, 'rm', 'two')).code).toBe(0);
    expect((await workflow(rig, 'history', 'two')).code).toBe(1);
  });

  it('find the artifacts of the session they are told of', async () => {
    using rig = new CliRig({ onDisk: true });
    const folder = join(rig.cwd, 'sessions');
    const session = (await rig.run('session', 'create', '--folder', folder)).out.trimEnd();
    const [file] = readdirSync(folder).filter((name) => name.endsWith('.jsonl'));
    const artifacts = join(folder, file!.replace('.jsonl', ''));
    mkdirSync(artifacts);
    writeFileSync(join(artifacts, '0.bash.log'), 'a log');
    writeFileSync(join(rig.cwd, 'two.mjs'), SOURCE.replace('echo b', 'echo see artifact://0'));
    await workflow(rig, 'add', 'two.mjs');
    const without = await workflow(rig, 'run', 'two', '--prompt', 'x');
    expect(without).toMatchObject({ code: 1 });
    expect(without.err).toContain('artifact://0: No session - artifacts unavailable');
    const told = await workflow(rig, 'run', 'two', '--prompt', 'x', '--session', session);
    expect(told.code).toBe(0);
  });
});

describe('a hash that was printed short', () => {
  it('is taken where a step is wanted', async () => {
    using rig = new CliRig();
    const id = await start(rig);
    for (const content of ['one', 'two', 'three']) {
      await workflow(rig, 'step', id, '--role', 'r', '--content', content);
    }
    const { out } = await workflow(rig, 'show', id);
    const shorts = Array.from(out.matchAll(/^([0-9a-f]{12})  /gm), ([, short = '']) => short);
    expect(shorts).toHaveLength(3);
    const [, two = '', three = ''] = shorts;
    const before = await workflow(rig, 'show', id, '--before', three);
    expect(before.out).toContain('r  two\n');
    expect(before.out).not.toContain('r  three\n');
    const fork = (await workflow(rig, 'fork', id, '--at', two)).out.trimEnd();
    expect((await workflow(rig, 'show', fork)).out).not.toContain('r  three\n');
    const step = ['step', id, '--role', 'r', '--content', 'four'];
    expect(await workflow(rig, ...step, '--expect-head', three)).toMatchObject({ code: 0 });
    // The old name.
    expect(await workflow(rig, ...step, '--expected-head', three)).toMatchObject({ code: 1 });
    // Nothing begins like this: what is no hash is a role.
    expect(await workflow(rig, 'fork', id, '--at', 'facade')).toMatchObject({ code: 1 });
    expect(await workflow(rig, 'show', id, '--before', 'zz')).toMatchObject({ code: 2 });
  });

  it('is taken where a bundle is wanted, and refused when it fits several', async () => {
    using rig = new CliRig();
    for (const n of [1, 2]) {
      writeFileSync(join(rig.cwd, 'two.mjs'), `${SOURCE}\n// ${n}\n`);
      await workflow(rig, 'add', 'two.mjs');
    }
    const { out } = await workflow(rig, 'history', 'two', '--json');
    const [first = ''] = out.split('\n').map((line) => /[0-9a-f]{64}/.exec(line)?.[0] ?? '');
    expect((await workflow(rig, 'rollback', 'two', '--to', first.slice(0, 12))).out).toBe(
      `${first}\n`,
    );
    const create = ['create', 'two', '--prompt', 'p', '--bundle'];
    expect(await workflow(rig, ...create, first.slice(0, 12))).toMatchObject({ code: 0 });
    expect(await workflow(rig, ...create, '0123456789ab')).toMatchObject({
      code: 1,
      err: expect.stringContaining('workflow two never had a bundle 0123456789ab') as string,
    });
  });
});
