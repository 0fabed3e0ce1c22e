/**
 * Invariant: a push waits for no other process, and yet the handlers run for what it pushed; after a restart of the
 * machine they run without a push.
 */
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { askForDispatch, forgetAsked } from '../../src/queue/dispatch/consumer-lock.ts';
import { openQueue } from './fixture.ts';
import { ThreadRig, eventually } from './rig.ts';
import { freshFolder } from '../../src/testing/fresh-folder.ts';

const PUSH = 'thread push --thread inbox --source self --type message --content x';

/** With the notifier of the package. */
async function makeRig(): Promise<ThreadRig> {
  const rig = new ThreadRig();
  rig.env['THREAD_NOTIFIER'] = '';
  await rig.sh('thread init inbox');
  await rig.sh(`thread subscribe --thread inbox --consumer w --handler '${rig.handler()}'`);
  return rig;
}

describe('a push', { timeout: 120_000 }, () => {
  it('does not wait for the notifier', async () => {
    using rig = await makeRig();
    const notifier = join(rig.folder, 'bin', 'slow');
    const script = `#!/bin/sh\ntouch began\nuntil [ -e go ]; do sleep 0.05; done\ntouch ended\n`;
    writeFileSync(notifier, script, { mode: 0o755 });
    rig.env['THREAD_NOTIFIER'] = notifier;
    expect(await rig.sh(PUSH)).toEqual({ code: 0, out: 'Pushed event 1\n', err: '' });
    await eventually(() => existsSync(join(rig.folder, 'began')));
    expect(existsSync(join(rig.folder, 'ended'))).toBe(false);
    writeFileSync(join(rig.folder, 'go'), '');
    await eventually(() => existsSync(join(rig.folder, 'ended')));
  });

  it('wakes the handler once for many that come together, and leaves one alone that runs', async () => {
    using rig = await makeRig();
    writeFileSync(join(rig.notes, 'halt'), '');
    const pushes = Array.from({ length: 6 }, () => rig.sh(PUSH));
    for (const ran of await Promise.all(pushes)) expect(ran).toMatchObject({ code: 0, err: '' });
    await eventually(() => rig.notesOf('w', 'halted').length === 1);
    // Each dispatch that was asked for takes this file away when it looks. Then nobody is asked any more.
    const asked = join(rig.inbox, 'run', 'dispatch.asked');
    await eventually(() => !existsSync(asked));
    // The handler's supervisor will look again before it ends, so nobody is asked for this one.
    expect(await rig.sh(PUSH)).toMatchObject({ code: 0, out: 'Pushed event 7\n' });
    expect(existsSync(asked)).toBe(false);
    rmSync(join(rig.notes, 'halt'));
    await eventually(() => new Set(rig.notesOf('w', 'handled')).size === 7);
    await eventually(() => rig.isQuiet);
    const log = readFileSync(join(rig.inbox, 'logs', 'thread.log'), 'utf8');
    expect(log.match(/push: notifier task=/g)?.length).toBeLessThan(6);
  });
});

describe('who asked for a dispatch', () => {
  it('stands for others until it looks, or is given up', () => {
    const { folder } = openQueue(freshFolder());
    const now = Date.now();
    expect(askForDispatch(folder, now)).toBe(true);
    expect(askForDispatch(folder, now)).toBe(false);
    forgetAsked(folder);
    expect(askForDispatch(folder, now)).toBe(true);
    expect(askForDispatch(folder, now + 60_000)).toBe(true);
  });
});

describe('after a restart of the machine', { timeout: 120_000 }, () => {
  it('consumers are woken without a push, by what notifier install wrote', async () => {
    using rig = await makeRig();
    // Nobody was there to start a handler before.
    rig.env['THREAD_NOTIFIER'] = 'true';
    await rig.sh(
      `${PUSH}; thread init gone; thread subscribe --thread gone --consumer w --handler true`,
    );
    rig.env['XDG_CONFIG_HOME'] = join(rig.folder, 'config');
    rmSync(join(rig.folder, 'gone'), { recursive: true });
    mkdirSync(join(rig.folder, 'gone'));
    const { out } = await rig.sh('notifier install');
    expect(out).toMatch(
      /^Wrote \S+\/systemd\/user\/quipu-notifier\.service\nNow run: systemctl --user /,
    );
    const unit = readFileSync(/^Wrote (\S+)/.exec(out)![1]!, 'utf8');
    const starts = [...unit.matchAll(/^ExecStart=(.*)$/gm)].map(([, line]) => line!);
    expect(starts).toHaveLength(2);
    const [home] = /(?<=^Environment=).*$/m.exec(unit) ?? [];
    const ran = await rig.sh(starts.map((line) => `env ${home} ${line}`).join('\n'));
    expect(ran).toMatchObject({ code: 0, err: '' });
    expect(ran.out).toContain(`${rig.inbox}: started w\n`);
    await eventually(() => rig.notesOf('w', 'handled').length === 1);
    // The one that is no thread any more is not looked for again.
    expect(readdirSync(join(rig.spool, 'threads'))).toHaveLength(1);
    const both = await rig.sh('thread dispatch --all --thread inbox');
    expect(both).toMatchObject({
      code: 2,
      err: expect.stringContaining("'--thread' and '--all'") as string,
    });
    await eventually(() => rig.isQuiet);
  });
});
