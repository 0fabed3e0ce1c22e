import { CliRig } from '../../../test/cli/rig.ts';
import { payloadsOf, sixTurns } from '../../../test/cli/six-turns.ts';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';

describe('quipu context create', () => {
  it('prints the id alone, so that it composes', async () => {
    using rig = new CliRig();
    expect(await rig.run('context', 'create')).toEqual({ code: 0, out: '1\n', err: '' });
    expect(await rig.run('context', 'create', '--title', 'two')).toEqual({
      code: 0,
      out: '2\n',
      err: '',
    });
  });

  it('keeps title, kind, labels and meta', async () => {
    using rig = new CliRig();
    const details = ['--title', 'T', '--kind', 'chat', '--label', 'a', '--label', 'b'];
    const made = await rig.run('context', 'create', ...details, '--meta', '{"n":1}', '--json');
    expect(JSON.parse(made.out)).toMatchObject({
      id: '1',
      head: '0',
      title: 'T',
      kind: 'chat',
      labels: ['a', 'b'],
      meta: { n: 1 },
    });
  });

  it('refuses meta that is not JSON and makes no store', async () => {
    using rig = new CliRig();
    const refused = await rig.run('context', 'create', '--meta', '{n:1}');
    expect(refused).toMatchObject({ code: 2, out: '' });
    expect(refused.err).toContain('--meta');
    expect((await rig.run('context', 'list')).err).toContain('quipu init');
  });
});

describe('quipu context list', () => {
  it('prints a table, newest first, and how to go on', async () => {
    using rig = new CliRig();
    await rig.run('context', 'create', '--title', 'first', '--label', 'x');
    await rig.run('context', 'create', '--title', 'second \u202e', '--label', 'y', '--label', 'z');
    const { code, out, err } = await rig.run('context', 'list');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out.split('\n')).toEqual([
      'CONTEXT  HEAD  DEPTH  UPDATED               TITLE          LABELS',
      '      2     0      0  2023-11-14T22:13:20Z  second \\u202e  y,z',
      '      1     0      0  2023-11-14T22:13:20Z  first          x',
      '',
    ]);

    const page = await rig.run('context', 'list', '-n', '1');
    const [, cursor = ''] = /^more: --cursor (\S+)\n$/.exec(page.err) ?? [];
    const rest = await rig.run('context', 'list', '--cursor', cursor, '--json');
    expect(JSON.parse(rest.out)).toMatchObject({ id: '1', title: 'first' });
  });

  it('filters by label, and prints one JSON object a line', async () => {
    using rig = new CliRig();
    for (const label of ['x', 'y', 'x']) await rig.run('context', 'create', '--label', label);
    const { out, err } = await rig.run('context', 'list', '--label', 'x', '--json', '-n', '1');
    expect(JSON.parse(out)).toMatchObject({ id: '3' });
    expect(JSON.parse(err)).toHaveProperty('cursor');
  });

  it('filters by fields of the meta and by time, and counts', async () => {
    using rig = new CliRig();
    for (const meta of ['{"env":"prod","n":3}', '{"env":"prod","n":"3"}', '{"env":"dev"}']) {
      await rig.run('context', 'create', '--meta', meta);
    }
    const ids = async (...given: string[]): Promise<string> => {
      const { code, out, err } = await rig.run('context', 'list', '--json', ...given);
      expect({ code, err }).toEqual({ code: 0, err: '' });
      const lines = out.trimEnd().split('\n').filter(Boolean);
      return lines.map((line) => (JSON.parse(line) as { id: string }).id).join(' ');
    };
    expect(await ids('--meta', 'env=prod')).toBe('2 1');
    expect(await ids('--meta', 'env=prod', '--meta', 'n=3')).toBe('1');
    expect(await ids('--meta', 'n="3"')).toBe('2');
    expect(await ids('--meta', 'env^=de')).toBe('3');
    expect(await ids('--meta', 'n')).toBe('2 1');
    expect(await ids('--meta', '!n')).toBe('3');
    // The clock of this store stands at 2023-11-14T22:13:20Z.
    expect(await ids('--since', '2023-11-14')).toBe('3 2 1');
    expect(await ids('--since', '2023-11-14T22:13:21Z')).toBe('');
    expect(await ids('--until', '1d', '--created-since', '2023-11-14 22:13Z')).toBe('3 2 1');
    expect(await ids('--created-until', '2023-11-14')).toBe('');
    const counted = await rig.run('context', 'list', '--meta', 'env=prod', '--total', '-n', '1');
    expect(counted.err).toMatch(/^total: 2\nmore: --cursor/);
    for (const wrong of ['yesterday', '2023-13-01', '7 d']) {
      expect((await rig.run('context', 'list', '--since', wrong)).code).toBe(2);
    }
  });

  it('says what to do when there is no store', async () => {
    using rig = new CliRig();
    const { code, out, err } = await rig.run('context', 'list');
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(/^quipu: there is no store at .*; create one with "quipu init"\n$/);
  });
});

describe('quipu context show', () => {
  it('prints the facts that are there', async () => {
    using rig = new CliRig();
    await rig.run('context', 'create', '--title', 'T', '--meta', '{"n":1}');
    await rig.run('context', 'append', '1', '--type', 'note', '--text', 'hi');
    await rig.run('context', 'fork', '1');
    expect(await rig.run('context', 'show', '1')).toEqual({
      code: 0,
      out:
        'context  1\ntitle    T\nhead     1 at depth 0\ncreated  2023-11-14T22:13:20Z\n' +
        'updated  2023-11-14T22:13:20Z\nmeta     {"n":1}\n',
      err: '',
    });
    const forked = await rig.run('context', 'show', '2');
    expect(forked.out).toContain('forked from  1\n');
    expect(forked.out).toContain('flags        4 (forked)\n');
    expect(JSON.parse((await rig.run('context', 'show', '1', '--json')).out)).toMatchObject({
      flags: 0,
    });
  });

  it('says which context is missing', async () => {
    using rig = new CliRig();
    await rig.run('context', 'create');
    expect(await rig.run('context', 'show', '7')).toEqual({
      code: 1,
      out: '',
      err: 'quipu: there is no context 7\nhint: list the contexts with: quipu context list\n',
    });
    const { err } = await rig.run('context', 'show', '7', '--json');
    expect(JSON.parse(err)).toEqual({
      error: {
        code: 'NOT_FOUND',
        message: 'there is no context 7',
        data: { what: 'context', id: '7' },
      },
    });
  });

  it.each(['0', '-1', '12abc', '1.0', '99999999999999999999'])(
    'refuses %s as an id',
    async (id) => {
      using rig = new CliRig();
      await rig.run('context', 'create');
      expect(await rig.run('context', 'show', '--', id)).toMatchObject({ code: 2, out: '' });
    },
  );
});

describe('quipu context update', () => {
  it('changes what is given, clears what is named and leaves the rest', async () => {
    using rig = new CliRig();
    await rig.run('context', 'create', '--title', 'T', '--kind', 'chat', '--label', 'a');
    const silent = await rig.run('context', 'update', '1', '--title', 'U', '--clear', 'labels');
    expect(silent).toEqual({ code: 0, out: '', err: '' });
    const { out } = await rig.run('context', 'update', '1', '--meta', '[1]', '--json');
    const context = JSON.parse(out) as object;
    expect(context).toMatchObject({ title: 'U', kind: 'chat', labels: [], meta: [1] });
  });

  it('refuses to change nothing, or one thing twice', async () => {
    using rig = new CliRig();
    await rig.run('context', 'create');
    expect(await rig.run('context', 'update', '1')).toMatchObject({ code: 2, out: '' });
    const twice = await rig.run('context', 'update', '1', '--label', 'a', '--clear', 'labels');
    expect(twice).toMatchObject({ code: 2 });
    expect(twice.err).toContain('labels');
    expect(await rig.run('context', 'update', '1', '--clear', 'head')).toMatchObject({ code: 2 });
  });
});

describe('quipu context rm', () => {
  it('removes a context once, and leaves its forks', async () => {
    using rig = new CliRig();
    await rig.run('context', 'create');
    await rig.run('context', 'append', '1', '--type', 'note', '--text', 'hi');
    await rig.run('context', 'fork', '1');
    expect(await rig.run('context', 'rm', '1')).toEqual({ code: 0, out: '', err: '' });
    expect(await rig.run('context', 'rm', '1')).toMatchObject({ code: 1, out: '' });
    expect((await rig.run('context', 'last', '2', '--json')).out).toContain('"payload":"hi"');
    const removed = await rig.run('context', 'rm', '2', '--json');
    expect(JSON.parse(removed.out)).toEqual({ id: '2', removed: true });
  });
});

describe('quipu context fork', () => {
  it('prints the id of a context that goes on from the turn', async () => {
    using rig = new CliRig();
    await sixTurns(rig);
    expect(await rig.run('context', 'fork', '2')).toEqual({ code: 0, out: '2\n', err: '' });
    expect(payloadsOf((await rig.run('context', 'last', '2', '--json')).out)).toEqual(['t1', 't2']);
    const { out } = await rig.run('context', 'fork', '3', '--title', 'T', '--json');
    expect(JSON.parse(out)).toMatchObject({ id: '3', base: '3', head: '3', title: 'T' });
  });

  it('forks once for a key', async () => {
    using rig = new CliRig();
    await sixTurns(rig);
    const fork = ['context', 'fork', '2', '--key', 'job-7'] as const;
    expect((await rig.run(...fork)).out).toBe('2\n');
    expect((await rig.run(...fork)).out).toBe('2\n');
    expect(await rig.run(...fork, '--title', 'T')).toMatchObject({ code: 1, out: '' });
    const create = ['context', 'create', '--key', 'new'] as const;
    expect((await rig.run(...create)).out).toBe('3\n');
    expect((await rig.run(...create)).out).toBe('3\n');
  });

  it('refuses a turn that is not there', async () => {
    using rig = new CliRig();
    await sixTurns(rig);
    expect(await rig.run('context', 'fork', '7')).toMatchObject({ code: 1, out: '' });
    expect(await rig.run('context', 'fork')).toMatchObject({ code: 2, out: '' });
  });
});

describe('quipu context diff', () => {
  it('prints the base and both sides', async () => {
    using rig = new CliRig();
    await sixTurns(rig);
    await rig.run('context', 'fork', '4');
    await rig.run('context', 'append', '2', '--type', 'note', '--text', 'other');
    expect(await rig.run('context', 'diff', '6', '7')).toEqual({
      code: 0,
      out: 'base   4\nleft   5 6\nright  7\n',
      err: '',
    });
    expect(JSON.parse((await rig.run('context', 'diff', '6', '7', '--json')).out)).toEqual({
      base: '4',
      left: ['5', '6'],
      right: ['7'],
    });
  });

  it('says when two turns have nothing in common', async () => {
    using rig = new CliRig();
    await sixTurns(rig);
    await rig.run('context', 'create');
    await rig.run('context', 'append', '2', '--type', 'note', '--text', 'alone');
    expect((await rig.run('context', 'diff', '1', '7')).out).toBe(
      'base   none\nleft   1\nright  7\n',
    );
  });
});

describe('quipu context follow', () => {
  it('prints what is there and ends on Ctrl-C with 0', async () => {
    using rig = new CliRig();
    await sixTurns(rig);
    let printed = 0;
    rig.accept = () => {
      printed += 1;
      if (printed === 6) rig.interrupt.abort();
    };
    const { code, out, err } = await rig.run('context', 'follow', '1', '--json');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(payloadsOf(out)).toEqual(['t1', 't2', 't3', 't4', 't5', 't6']);
  });

  it('waits for more until it is told to stop', async () => {
    using rig = new CliRig();
    await sixTurns(rig);
    const printed = new Promise<void>((resolve) => (rig.accept = () => resolve()));
    const running = rig.run('context', 'follow', '1', '--after', '5');
    await printed;
    const first = await Promise.race([running, sleep(30, 'still waiting')]);
    expect(first).toBe('still waiting');
    rig.interrupt.abort();
    expect(await running).toEqual({ code: 0, out: '6  2023-11-14T22:13:20Z  note  t6\n', err: '' });
  });

  it('ends after a number of turns', async () => {
    using rig = new CliRig();
    await sixTurns(rig);
    const { out } = await rig.run('context', 'follow', '1', '-n', '2', '--json');
    expect(payloadsOf(out)).toEqual(['t1', 't2']);
    expect(await rig.run('context', 'follow', '1', '-n', '0')).toEqual({
      code: 0,
      out: '',
      err: '',
    });
  });
});

describe('quipu context chain', () => {
  it('prints every turn from the root to the one named, on any branch', async () => {
    using rig = new CliRig();
    await sixTurns(rig);
    expect(payloadsOf((await rig.run('context', 'chain', '4')).out)).toEqual([
      't1',
      't2',
      't3',
      't4',
    ]);
    await rig.run('context', 'fork', '2');
    await rig.run('context', 'append', '2', '--type', 'note', '--text', 'b');
    await rig.run('context', 'rm', '2');
    expect(payloadsOf((await rig.run('context', 'chain', '7')).out)).toEqual(['t1', 't2', 'b']);
  });

  it('writes a file, and says which turn is missing', async () => {
    using rig = new CliRig();
    await sixTurns(rig);
    expect(await rig.run('context', 'chain', '2', '--out', 'out.ndjson')).toMatchObject({
      code: 0,
    });
    expect(payloadsOf(readFileSync(join(rig.cwd, 'out.ndjson'), 'utf8'))).toEqual(['t1', 't2']);
    expect(await rig.run('context', 'chain', '99')).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringContaining('there is no turn 99') as string,
    });
  });
});

describe('quipu context export', () => {
  const ALL = ['t1', 't2', 't3', 't4', 't5', 't6'];

  it('prints every turn from the root to the head', async () => {
    using rig = new CliRig();
    await sixTurns(rig);
    expect(payloadsOf((await rig.run('context', 'export', '1')).out)).toEqual(ALL);
    await rig.run('context', 'create');
    expect(await rig.run('context', 'export', '2')).toEqual({ code: 0, out: '', err: '' });
  });

  it('writes a file that is there only when complete', async () => {
    using rig = new CliRig();
    await sixTurns(rig);
    const done = await rig.run('context', 'export', '1', '--out', 'out.ndjson');
    expect(done).toEqual({ code: 0, out: '', err: '' });
    expect(payloadsOf(readFileSync(join(rig.cwd, 'out.ndjson'), 'utf8'))).toEqual(ALL);

    expect(await rig.run('context', 'export', '1', '--out', 'no/x')).toMatchObject({ code: 1 });
    expect(readdirSync(rig.cwd)).toEqual(['out.ndjson']);
  });

  it('shows a bar on a terminal and wipes it', async () => {
    using rig = new CliRig();
    await sixTurns(rig);
    rig.isTerminal = true;
    const { err } = await rig.run('context', 'export', '1', '--out', 'out.ndjson');
    expect(err).toBe(`\r\u001b[K####${'.'.repeat(20)} 16% turns\r\u001b[K`);
  });

  it('ends quietly when the reader has seen enough', async () => {
    using rig = new CliRig();
    await sixTurns(rig);
    let lines = 0;
    rig.accept = () => {
      lines += 1;
      if (lines > 2) throw Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });
    };
    const { code, out, err } = await rig.run('context', 'export', '1');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(payloadsOf(out)).toEqual(['t1', 't2']);
  });
});
