import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { NotifierRig, isAlive } from './rig.ts';

/** Says in a file that it began and that it ended, which it does when there is a file `go`, or no folder for one. */
const PATIENT =
  'echo begin $$ >> trace; while [ -e trace ] && [ ! -e go ]; do sleep 0.02; done; echo end >> trace';

describe('adding', () => {
  it('starts a daemon, which leaves when it is idle, and starts the next', async () => {
    await using rig = new NotifierRig({ NOTIFIER_IDLE: '100ms', GREETING: 'hello' });
    const add = await rig.exec('task', 'add', '--command', 'echo $GREETING from $PWD >> trace');
    expect(add).toMatchObject({ code: 0, err: '' });
    await rig.until(() => rig.read('trace') === `hello from ${rig.folder}\n`);
    await rig.until(async () => (await rig.run('status')).out.includes('not running'));
    await rig.exec('task', 'add', '--command', 'echo again >> trace');
    await rig.until(() => rig.read('trace').endsWith('again\n'));
  });

  it('by many at once accepts an id once', async () => {
    await using rig = new NotifierRig({ NOTIFIER_TASKS: '1' });
    await rig.run('task', 'add', '--task-id', 'before', '--command', PATIENT);
    const add = ['task', 'add', '--task-id', 'same', '--command', 'echo same >> trace'];
    // The first ones find no daemon, and each of them starts one: all but one of those leave again.
    const ran = await Promise.all([0, 1, 2, 3].map(() => rig.exec(...add)));
    expect(ran.map(({ code }) => code).toSorted((a, b) => a - b)).toEqual([0, 1, 1, 1]);
    rig.write('go');
    await rig.until(() => rig.read('trace').includes('same'));
    await rig.until(async () => (await rig.run('task', 'list')).out === '');
    expect(rig.read('trace')).toMatch(/^begin \d+\nend\nsame\n$/);
    expect(rig.read('spool/notifier.log').split('daemon: began')).toHaveLength(2);
  });
});

describe('stopping', () => {
  it('ends what runs with all its processes, and keeps it for the next start', async () => {
    await using rig = new NotifierRig();
    expect((await rig.exec('start')).out).toMatch(/^Started \(process \d+\)\n$/);
    expect((await rig.exec('start')).out).toMatch(/^Already running/);
    await rig.run('task', 'add', '--task-id', 'a', '--command', `(${PATIENT}) | cat`);
    await rig.until(() => rig.read('trace').includes('begin'));
    const [, child] = rig.read('trace').split(/\s/);
    rig.now = Date.now();
    expect((await rig.exec('stop')).out).toBe('Stopped\n');
    expect((await rig.run('stop')).out).toBe('Not running\n');
    await rig.until(() => !isAlive(child));
    expect((await rig.run('task', 'list')).out).toContain('interrupted');
    await sleep(50);
    rig.write('go');
    await rig.daemon();
    await rig.until(() => rig.read('trace').endsWith('end\n'));
    expect(rig.read('trace').split('end')).toHaveLength(2);
  });
});
