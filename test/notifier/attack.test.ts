/**
 * Invariant: who may not run commands as the owner of a spool cannot have the daemon run one, and whatever lies in the spool
 * ends neither the daemon nor the tasks of others.
 */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { NotifierRig } from './rig.ts';

const BELL = '\u{7}\u{1b}[2J';

describe.skipIf(process.platform === 'win32')('a spool', { timeout: 60_000 }, () => {
  it.each([0o777, 0o775, 0o720, 0o702])(
    'that others can write to is refused (%o)',
    async (mode) => {
      await using rig = new NotifierRig();
      const add = ['task', 'add', '--task-id', 'a', '--command', 'true'];
      mkdirSync(rig.home, { mode: 0o700 });
      chmodSync(rig.home, mode);
      expect(await rig.run(...add)).toMatchObject({ code: 1, out: '' });
      chmodSync(rig.home, 0o700);
      expect((await rig.run(...add)).code).toBe(0);
      chmodSync(join(rig.home, 'pending'), mode);
      const refused = await rig.run(...add.with(3, 'b'));
      expect(refused).toMatchObject({ code: 1, out: '' });
      expect(refused.err).toContain('others could run commands in your name; run: chmod go-w');
      expect(existsSync(join(rig.home, 'pending', 'b.json'))).toBe(false);
      chmodSync(join(rig.home, 'pending'), 0o700);
    },
  );

  it('is for its owner alone, whatever the process lets others do', async () => {
    await using rig = new NotifierRig();
    const mask = process.umask(0);
    await rig.run('task', 'add', '--task-id', 'a', '--command', 'true');
    await rig.run('timer', 'add', '--timer-id', 't', '--cron', '0 0 * * *', '--command', 'true');
    process.umask(mask);
    const open = readdirSync(rig.home, { recursive: true, withFileTypes: true }).filter((entry) => {
      const path = join(entry.parentPath, entry.name);
      return spawnSync('stat', ['-c', '%a', path]).stdout.toString().trim().slice(-2) !== '00';
    });
    expect(open.map(({ name }) => name)).toEqual([]);
  });

  it('has no names outside of it', async () => {
    await using rig = new NotifierRig();
    await rig.run('task', 'add', '--task-id', 'a', '--command', 'true');
    const outside = join(rig.folder, 'victim.json');
    writeFileSync(outside, readFileSync(join(rig.home, 'pending', 'a.json')));
    for (const id of [
      '../../victim',
      '/etc/passwd',
      '..',
      '.hidden',
      'a/b',
      'a\0b',
      '',
      '-x',
      'x'.repeat(200),
    ]) {
      for (const [group, verb, option] of [
        ['task', 'remove', '--task-id'],
        ['task', 'retry', '--task-id'],
        ['timer', 'remove', '--timer-id'],
      ] as const) {
        const words = [group, verb, `${option}=${id}`];
        expect((await rig.run(...words)).code, words.join(' ')).not.toBe(0);
        expect((await rig.run(group, verb, '--', id)).code, id).not.toBe(0);
      }
      expect((await rig.run('task', 'add', `--task-id=${id}`, '--command', 'true')).code).toBe(2);
    }
    expect(existsSync(outside)).toBe(true);
  });

  it('goes on beside anything that someone put into it', async () => {
    await using rig = new NotifierRig();
    await rig.run('task', 'add', '--task-id', 'model', '--command', `touch ${rig.folder}/model`);
    const pending = join(rig.home, 'pending');
    const model = readFileSync(join(pending, 'model.json'), 'utf8');
    // None of these is a record; each would stop one who reads without looking.
    for (let number = 0; number < 6; number += 1) {
      spawnSync('mkfifo', [join(pending, `fifo-${number}.json`)]);
    }
    mkdirSync(join(pending, 'folder.json'));
    symlinkSync('/dev/zero', join(pending, 'zero.json'));
    symlinkSync(join(pending, 'loop.json'), join(pending, 'loop.json'));
    writeFileSync(join(pending, 'huge.json'), '');
    truncateSync(join(pending, 'huge.json'), 3 * 2 ** 30);
    writeFileSync(join(pending, 'deep.json'), '['.repeat(100_000));
    // Nor may one stand for another.
    writeFileSync(join(pending, 'other.json'), model.replaceAll('/model', '/stolen'));
    writeFileSync(join(rig.home, 'daemon.json'), '{"pid":-1}');
    writeFileSync(join(rig.home, 'running', 'model.run'), '{"runId":"x","pid":1,"startedAt":0}');
    const daemon = await rig.daemon();
    await rig.until(async () => existsSync(join(rig.folder, 'model')));
    expect(
      (await rig.exec('task', 'add', '--task-id', 'late', '--command', `touch ${rig.folder}/late`))
        .code,
    ).toBe(0);
    await rig.until(async () => existsSync(join(rig.folder, 'late')));
    expect(existsSync(join(rig.folder, 'stolen'))).toBe(false);
    const memoryKb = Number(
      /^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${daemon.pid}/status`, 'utf8'))?.[1],
    );
    expect(memoryKb).toBeLessThan(400_000);
    await daemon.kill();
  });

  it('shows what others wrote without the characters that move a terminal', async () => {
    await using rig = new NotifierRig();
    await rig.run(
      'task',
      'add',
      '--task-id',
      'a',
      '--author',
      `x${BELL}`,
      '--command',
      `echo '${BELL}'`,
    );
    const { out } = await rig.run('task', 'list');
    for (const character of ['\u{7}', '\u{1b}']) expect(out).not.toContain(character);
  });
});
