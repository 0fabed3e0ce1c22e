import { describe, expect, it } from 'vitest';
import { CliRig } from '../../test/cli/rig.ts';
import { QuipuError } from '../base/errors.ts';
import type { Store } from '../store/store.ts';
import { listVerbs } from './kit/verb.ts';
import { NOUNS, quipu } from './program.ts';

/** `context create` and so on, each as it is typed. */
const COMMANDS = (await listVerbs(quipu)).map(([words]) => words.split(' '));

describe('help', () => {
  it.each(COMMANDS)('of %s %s has an example of itself', async (...words) => {
    using rig = new CliRig();
    const argv = words.filter((word) => typeof word === 'string');
    const { code, out, err } = await rig.run(...argv, '--help');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toContain(`Usage: quipu ${argv.join(' ')}`);
    expect(out).toMatch(new RegExp(`Examples:\\n(?:  \\$ .*\\n)*  \\$ .*quipu ${argv.join(' ')}`));
  });

  it('goes to standard error with 2 when a command is missing', async () => {
    using rig = new CliRig();
    for (const argv of [[], ['context'], ['blob']]) {
      const { code, out, err } = await rig.run(...argv);
      expect({ code, out }).toEqual({ code: 2, out: '' });
      expect(err).toContain('Usage: quipu');
    }
  });

  it('of a verb has its exit codes, and is found by its words', async () => {
    using rig = new CliRig();
    const { out } = await rig.run('context', 'append', '--help');
    expect(out).toMatch(/\nExit codes: 0 done, 1 .*, 2 .*\.\n$/);
    expect(await rig.run('help', 'context', 'append')).toEqual({ code: 0, out, err: '' });
    expect(await rig.run('help')).toEqual(await rig.run('--help'));
    // Nothing is run, whatever follows.
    expect((await rig.run('help', 'restore', 'a', 'b')).out).toContain('Usage: quipu restore');
  });

  it('of an unknown command names the nearest', async () => {
    using rig = new CliRig();
    for (const words of [['help', 'contxt'], ['contxt']]) {
      const { code, err } = await rig.run(...words);
      expect({ code, err }).toEqual({
        code: 2,
        err: "quipu: unknown command 'contxt'\n(Did you mean quipu context?)\n",
      });
    }
    expect((await rig.run('help', 'context', 'apend')).err).toContain(
      '(Did you mean quipu context append?)',
    );
  });

  it.each([
    [['context', 'log', '1'], 'one of quipu log, quipu context show'],
    [['history'], 'quipu log?)'],
    [['context', 'open', 'x'], 'one of quipu context show, quipu context create?)'],
    [['context', 'search', 'x'], 'quipu search?)'],
    [['blob', 'import'], 'quipu import'],
    [['serch', 'x'], 'quipu search'],
    [['lgo'], 'quipu log'],
    [['append', '1'], 'one of quipu context append, quipu session append, quipu chat append'],
    [['apend', '1'], 'one of quipu context append, quipu session append'],
    [['chat', 'delete', 'x'], 'quipu chat rm'],
    [['queue', 'ls'], 'quipu queue list'],
    [['--store', 'x', 'session', 'tail', 'y'], 'quipu session follow'],
    [['--store', 'x', 'blob', 'tail', 'y'], 'one of quipu context follow'],
    [['workflow', 'strt'], 'quipu workflow'],
    [['context', 'move-head', '1', '2'], 'quipu context move?)'],
    [['context', 'moveHead', '1', '2'], 'quipu context move?)'],
  ])('of %j says what may have been meant', async (words, meant) => {
    using rig = new CliRig();
    const { code, err } = await rig.run(...words);
    expect(code).toBe(2);
    expect(err).toContain(`(Did you mean ${meant}`);
  });

  it('of a word that is like nothing here suggests nothing', async () => {
    using rig = new CliRig();
    expect((await rig.run('xylophone')).err).toBe("quipu: unknown command 'xylophone'\n");
  });

  it('has the same verbs for every noun that has the thing', async () => {
    const names = new Set((await listVerbs(quipu)).map(([words]) => words));
    const missing = NOUNS.flatMap(({ name }) =>
      ['create', 'list', 'show', 'rm', 'follow'].map((verb) => `${name} ${verb}`),
    ).filter((words) => !names.has(words));
    expect(missing).toEqual([
      // Blobs never change.
      'blob follow',
      // Nothing removes a queue.
      'queue rm',
      // Tokens are in one small file.
      'token follow',
    ]);
  });

  it.each([
    ['chat', 'new', 'create'],
    ['workflow', 'start', 'create'],
    ['workflow', 'live', 'follow'],
    ['queue', 'info', 'show'],
    ['blob', 'put', 'create'],
    ['blob', 'stat', 'show'],
    ['blob', 'erase', 'rm'],
    ['token', 'revoke', 'rm'],
  ])('knows %s %s of old, and tells nobody', async (noun, old, now) => {
    using rig = new CliRig();
    expect((await rig.run(noun, old, '--help')).out).toContain(`Usage: quipu ${noun} ${old}`);
    const listed = (await rig.run(noun, '--help')).out;
    expect(listed).not.toMatch(new RegExp(`^  ${old}\\b`, 'm'));
    expect((await rig.run('completion', 'fish')).out).not.toContain(`-a ${old} `);
    expect(listed).toContain(`  ${now} `);
  });

  it('finds a store under the verbs of things, without a word about it', async () => {
    using rig = new CliRig();
    const { out } = await rig.run('store', 'create');
    expect(await rig.run('init')).toMatchObject({ code: 0, out });
    expect(await rig.run('store', 'show')).toEqual(await rig.run('stats'));
    expect((await rig.run('--help')).out).not.toMatch(/^  (?:store|open) /m);
    expect((await rig.run('open', '--help')).out).toContain('Usage: quipu open');
  });

  it('has the version', async () => {
    using rig = new CliRig();
    expect((await rig.run('--version')).out).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});

describe('errors', () => {
  it('of the command line have 2 and name the word', async () => {
    using rig = new CliRig();
    const { code, out, err } = await rig.run('context', 'lst');
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toMatch(/^quipu: unknown command 'lst'\n\(Did you mean .*\?\)\n$/);
    expect(await rig.run('context', 'list', 'too', 'many')).toMatchObject({ code: 2 });
  });

  it('are one JSON object on standard error with --json', async () => {
    using rig = new CliRig();
    const { code, out, err } = await rig.run('context', 'list', '--limt', '3', '--json');
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(JSON.parse(err)).toMatchObject({
      error: { code: 'INVALID', data: { what: 'command line' } },
    });
  });

  it('that nobody foresaw show where they come from', async () => {
    using rig = new CliRig();
    rig.open = () => Promise.reject(new TypeError('a fault'));
    const { code, err } = await rig.run('stats');
    expect(code).toBe(1);
    expect(err).toMatch(/^quipu: internal error: TypeError: a fault\n +at /);
    expect(JSON.parse((await rig.run('stats', '--json')).err)).toEqual({
      error: { code: 'INTERNAL', message: 'a fault', data: {} },
    });
  });

  it('of the work are told before those of closing the store', async () => {
    using rig = new CliRig();
    await rig.run('init');
    const full = new QuipuError('DISK_FULL', 'the disk is full', { path: 'journal' });
    rig.open = async () => {
      const fail = (): Promise<never> => Promise.reject(full);
      const close = (): Promise<never> => Promise.reject(new Error('closing failed too'));
      return { maintain: { checkpoint: fail }, [Symbol.asyncDispose]: close } as unknown as Store;
    };
    expect(await rig.run('checkpoint')).toEqual({
      code: 1,
      out: '',
      err: 'quipu: the disk is full\n',
    });
  });

  it('cannot write to the terminal what was typed', async () => {
    using rig = new CliRig();
    const { err } = await rig.run('context', '\u001b[2J');
    expect(err).toContain('\\u001b[2J');
  });
});

describe('the store', () => {
  it('is named before or after the command', async () => {
    using rig = new CliRig();
    await rig.run('--store', 'a', 'context', 'create');
    expect((await rig.run('context', 'create', '--store', 'a')).out).toBe('2\n');
    expect((await rig.run('context', 'create', '--store', 'b')).out).toBe('1\n');
  });

  it('is waited for as long as one says', async () => {
    using rig = new CliRig();
    await rig.run('init');
    const open = rig.open.bind(rig);
    const waits: unknown[] = [];
    rig.open = (url, options) => {
      waits.push(options?.waitMs);
      return open(url, options);
    };
    await rig.run('checkpoint');
    await rig.run('checkpoint', '--wait', '0');
    expect(waits).toEqual([30_000, 0]);
    const locked = new QuipuError('LOCKED', 'in use', { what: 'store', owner: 'process 1' });
    rig.open = () => Promise.reject(locked);
    expect(await rig.run('checkpoint')).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^quipu: in use\nhint: .*quipu doctor\n$/) as string,
    });
  });
});
