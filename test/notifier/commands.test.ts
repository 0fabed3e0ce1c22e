import { chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { createProgram } from '../../src/notifier/program.ts';
import type { NotifierShell } from '../../src/notifier/nouns/command.ts';
import { readProject } from '../support/project.ts';
import { NotifierRig } from './rig.ts';

function leaves(command: Command, path: string): [string, Command][] {
  const name = `${path} ${command.name()}`.trim();
  if (command.commands.length === 0) return [[name, command]];
  return command.commands.flatMap((child) => leaves(child, name));
}

const commands = leaves(await createProgram({} as NotifierShell), '');

describe('every command', () => {
  it.each(commands)(
    '%s has examples of itself and a place in the reference',
    async (name, command) => {
      await using rig = new NotifierRig();
      const { code, out } = await rig.run(...name.split(' ').slice(1), '--help');
      expect(code).toBe(0);
      expect(out).toContain(`  $ ${name}`);
      const [, section = ''] = readProject('docs/reference/notifier.md').split(`### ${name}\n`);
      const flags = command.options.map(({ long }) => long ?? '');
      const own = flags.filter((flag) => flag !== '--home' && flag !== '--json');
      const text = section.split('\n### ')[0] ?? '';
      const words = command.registeredArguments.map((argument) => `<${argument.name()}>`);
      expect([...own, ...words].filter((word) => !text.includes(word))).toEqual([]);
    },
  );
});

describe('task', () => {
  it('adds, lists, refuses a second one, and removes', async () => {
    await using rig = new NotifierRig();
    const add = ['task', 'add', '--author', 'external:a:b', '--task-id', 'x', '--command', 'make'];
    expect(await rig.run(...add)).toEqual({ code: 0, out: 'Added task x\n', err: '' });
    expect(await rig.run(...add)).toEqual({
      code: 1,
      out: '',
      err: 'Error: task x is already pending - it will run; nothing to do\n',
    });
    // The daemon may have been killed since the first one was added.
    expect(rig.spawned).toHaveLength(2);
    expect(JSON.parse((await rig.run('task', 'list', '--json')).out)).toEqual({
      id: 'x',
      state: 'pending',
      author: 'external:a:b',
      command: 'make',
      cwd: rig.folder,
      addedAt: expect.any(Number) as number,
    });
    expect((await rig.run('task', 'list')).out).toMatch(/^TASK .*\nx +pending .* make\n$/);
    expect((await rig.run('task', 'remove', 'x')).out).toBe('Removed task x (pending)\n');
    expect(await rig.run('task', 'remove', 'x', '--json')).toEqual({
      code: 1,
      out: '',
      err: '{"error":"there is no task x","suggestion":"see \\"notifier task list\\""}\n',
    });
    expect(await rig.run('task', 'retry', 'x')).toMatchObject({ code: 1 });
  });

  it('needs no spool to list nothing, and makes none', async () => {
    await using rig = new NotifierRig();
    for (const argv of [['task', 'list'], ['timer', 'list'], ['stop']]) {
      expect(await rig.run(...argv)).toMatchObject({ code: 0, err: '' });
    }
    expect(JSON.parse((await rig.run('status', '--json')).out)).toMatchObject({
      daemon: null,
      pending: 0,
      timers: 0,
    });
    expect(rig.read('spool/version')).toBe('');
  });

  it.each([
    [['task', 'add'], /required option '--command/],
    [['task', 'add', '--command', ' '], /command is empty/],
    [['task', 'add', '--command', 'a\0b'], /zero byte/],
    [['task', 'add', '--command', 'x', '--task-id', '../up'], /task-id must have/],
    [['task', 'add', '--command', 'x', '--task-id', ''], /task-id must have/],
    [['task', 'add', '--command', 'x', '--task-id', 'a'.repeat(129)], /task-id must have/],
    [['task', 'add', '--command', 'x', '--author', 'a'.repeat(5000)], /author is longer/],
    [['task', 'add', '--command', 'x', '--timeout', '10'], /Expected a time/],
    [['task', 'add', '--command', 'x', '--timeout', '0'], /timeout takes/],
    [['task', 'list', '--state', 'lost'], /Allowed choices/],
    [
      ['timer', 'add', '--timer-id', 'a'.repeat(123), '--cron', '* * * * *', '--command', 'x'],
      /timer-id must have 1 to 122/,
    ],
    [['task', 'remove', 'a/b'], /task-id must have/],
    [['timer', 'add', '--timer-id', 'a', '--cron', '* * * *', '--command', 'x'], /five fields/],
    [
      ['timer', 'add', '--timer-id', 'a', '--cron', '0 0 31 2 *', '--command', 'x'],
      /date that does not exist/,
    ],
    [
      ['timer', 'add', '--timer-id', 'a', '--cron', '* * * * *', '--command', 'x', '--zone', 'X/Y'],
      /zone takes/,
    ],
    [['start', '--tasks', '0'], /from 1 to 256/],
    [['start', '--tasks', '2x'], /whole number/],
    [['begin'], /unknown command/],
  ])('refuses %j with 2 and changes nothing', async (argv, problem) => {
    await using rig = new NotifierRig();
    const { code, out, err } = await rig.run(...argv);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toMatch(/^Error: .* - .*\n$/);
    expect(err).toMatch(problem);
    expect(rig.read('spool/version')).toBe('');
    expect(rig.spawned).toEqual([]);
  });

  it('refuses a command that is too long, and settings that make no sense', async () => {
    await using rig = new NotifierRig();
    const long = await rig.run('task', 'add', '--command', 'x'.repeat(200_000));
    expect(long).toMatchObject({
      code: 1,
      err: expect.stringContaining('put it into a script') as string,
    });
    rig.env['NOTIFIER_IDLE'] = 'soon';
    const idle = await rig.run('task', 'add', '--command', 'x');
    expect(idle).toMatchObject({
      code: 2,
      err: expect.stringContaining('NOTIFIER_IDLE is "soon"') as string,
    });
    expect(rig.read('spool/version')).toBe('');
  });

  it('says what is in the way of a spool', async () => {
    await using rig = new NotifierRig();
    rig.write('file');
    const there = await rig.run('task', 'add', '--command', 'x', '--home', 'file');
    expect(there).toMatchObject({
      code: 1,
      err: expect.stringMatching(/ENOTDIR|EEXIST/) as string,
    });
    mkdirSync(join(rig.folder, 'open'));
    chmodSync(join(rig.folder, 'open'), 0o777);
    for (const argv of [
      ['task', 'add', '--command', 'x'],
      ['start', '--foreground'],
    ]) {
      const open = await rig.run(...argv, '--home', 'open');
      expect(open).toMatchObject({
        code: 1,
        err: expect.stringContaining('can be written by everyone') as string,
      });
    }
    expect(readdirSync(join(rig.folder, 'open'))).toEqual([]);
    mkdirSync(join(rig.folder, 'newer'));
    writeFileSync(join(rig.folder, 'newer', 'version'), '2\n');
    const newer = await rig.run('task', 'list', '--home', 'newer');
    expect(newer).toMatchObject({ code: 1, err: expect.stringContaining('version "2"') as string });
  });
});

describe('start', () => {
  it('makes no spool when it is to serve one that exists', async () => {
    await using rig = new NotifierRig();
    expect(await rig.run('start', '--foreground', '--existing')).toMatchObject({ code: 1 });
    expect(rig.read('spool/version')).toBe('');
  });
});

describe('timer', () => {
  it('adds, lists with the next time, refuses a second one, and removes', async () => {
    await using rig = new NotifierRig();
    const add = [
      'timer',
      'add',
      '--timer-id',
      't',
      '--cron',
      '30 9 * * mon-fri',
      '--command',
      'make',
    ];
    const added = await rig.run(...add, '--zone', 'Europe/Berlin');
    expect(added.out).toBe('Added timer t, next at 2026-11-16T08:30:00Z\n');
    expect(await rig.run(...add)).toMatchObject({ code: 1 });
    expect((await rig.run('timer', 'list')).out).toContain(
      'Europe/Berlin  2026-11-16T08:30:00Z  make',
    );
    expect(JSON.parse((await rig.run('timer', 'list', '--json')).out)).toMatchObject({
      id: 't',
      cron: '30 9 * * mon-fri',
      nextAt: Date.parse('2026-11-16T08:30:00Z'),
    });
    expect(await rig.run('timer', 'remove', 't')).toMatchObject({ code: 0 });
    expect(await rig.run('timer', 'remove', 't')).toMatchObject({ code: 1 });
  });
});
