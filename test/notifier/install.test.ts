import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { toLaunchAgent, toSystemdUnit } from '../../src/notifier/nouns/daemon.ts';
import { NotifierRig } from './rig.ts';

const programs = { node: '/opt/no"de', notifier: '/a%b/$c', thread: '/<t>&' };

describe('notifier install', () => {
  it('writes a unit of the system it runs on, and says what to do next', async () => {
    await using rig = new NotifierRig();
    const unit = join(rig.folder, '.config', 'systemd', 'user', 'quipu-notifier.service');
    expect((await rig.run('install', '--print')).out).toContain(
      '"/opt/a b/thread.js" "dispatch" "--all"',
    );
    expect(existsSync(unit)).toBe(false);
    expect(JSON.parse((await rig.run('install', '--json')).out)).toMatchObject({ file: unit });
    expect(readFileSync(unit, 'utf8')).toContain(`Environment="NOTIFIER_HOME=${rig.home}"\n`);
    rig.platform = 'darwin';
    const agent = join(rig.folder, 'Library', 'LaunchAgents', 'quipu-notifier.plist');
    expect((await rig.run('install')).out).toBe(
      `Wrote ${agent}\nNow run: launchctl load "${agent}"\n`,
    );
    rig.platform = 'win32';
    expect(await rig.run('install')).toMatchObject({ code: 1, out: '' });
  });

  it('writes paths so that they mean themselves', () => {
    const unit = toSystemdUnit({ home: '/h\\', programs });
    expect(unit).toContain('ExecStart="/opt/no\\"de" "/a%%b/$$c" "start"\n');
    expect(unit).toContain('Environment="NOTIFIER_HOME=/h\\\\"\n');
    expect(toLaunchAgent({ home: '/h', programs })).toContain('<string>/&lt;t&gt;&amp;</string>');
  });
});
