import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Command } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import { Refused } from '../refused.ts';
import { toLaunchAgent, toSystemdUnit } from '../start-unit.ts';
import type { World } from '../world.ts';

const UNIT = 'quipu-notifier';

export function install(world: World): Command {
  return defineCommand(
    'install',
    'Write what starts the daemon and wakes the consumers of threads after a restart of the machine.',
    ['notifier install', 'notifier install --print'],
  )
    .option('--print', 'print it instead')
    .action(
      withIo(world, async (io, { print = false }: { readonly print?: boolean }) => {
        const { file, text, next } = choose(world, io.home);
        if (print) return io.print(text, { file, text });
        mkdirSync(dirname(file), { recursive: true });
        writeFileSync(file, text);
        await io.print(`Wrote ${file}\nNow run: ${next}\n`, { file, next });
      }),
    );
}

/** For a user of this system. `next`: what makes it count. */
function choose(world: World, home: string): { file: string; text: string; next: string } {
  const { platform, env, userHome, programs } = world;
  if (platform === 'linux') {
    const config = env['XDG_CONFIG_HOME'] || join(userHome, '.config');
    const file = join(config, 'systemd', 'user', `${UNIT}.service`);
    const next = `systemctl --user enable --now ${UNIT} && loginctl enable-linger`;
    return { file, text: toSystemdUnit({ home, programs }), next };
  }
  if (platform === 'darwin') {
    const file = join(userHome, 'Library', 'LaunchAgents', `${UNIT}.plist`);
    return { file, text: toLaunchAgent({ home, programs }), next: `launchctl load "${file}"` };
  }
  throw new Refused(
    `there is no way to do this on ${platform} yet`,
    'have "notifier start" and "thread dispatch --all" run when the machine starts',
  );
}
