import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { parseDuration } from '../../cli/parse-amount.ts';
import { parseCount } from '../../cli/parse-argument.ts';
import type { CommandIo } from '../command.ts';
import { defineCommand, withIo } from '../command.ts';
import { isServed, readDaemonNote } from '../daemon/daemon-note.ts';
import type { DaemonSettings } from '../daemon-settings.ts';
import { daemonArgv, parseLimit, readSettings } from '../daemon-settings.ts';
import { Refused } from '../refused.ts';
import { spoolFile } from '../spool/home.ts';
import type { World } from '../world.ts';

/** A moment: those who ask whether the lock is taken touch it too. */
const DEFAULT_WAIT_MS = 300;
const GRACE_MS = 5000;
const START_MS = 10_000;

interface Options {
  readonly tasks?: number;
  readonly idle?: number;
  readonly foreground?: boolean;
  readonly existing?: boolean;
  readonly wait?: number;
  readonly asked?: number;
}

export function start(world: World): Command {
  return defineCommand('start', 'Start the daemon, if none runs. Adding a task does it, too.', [
    'notifier start',
    'notifier start --tasks 8 --idle 1h',
    'notifier start --foreground',
  ])
    .option('--tasks <n>', 'how many run side by side (default: $NOTIFIER_TASKS, 4)', parseLimit)
    .option(
      '--idle <time>',
      'leave after so long without work (default: $NOTIFIER_IDLE, 60s)',
      parseDuration,
    )
    .option('--foreground', 'be the daemon, instead of starting one in the background')
    .option('--existing', 'with --foreground: do not make a spool where there is none')
    .option(
      '--wait <time>',
      'how long to wait for a daemon that is leaving (default: 300ms)',
      parseDuration,
    )
    .option(
      '--asked <ms>',
      'with --foreground: when it was asked for, since 1970; it heeds a stop after that (default: now)',
      parseCount,
    )
    .action(
      withIo(world, async (io, options: Options) => {
        const { limit, idleMs } = readSettings(world.env);
        const settings = { limit: options.tasks ?? limit, idleMs: options.idle ?? idleMs };
        if (options.foreground !== true) return startDaemon(io, settings);
        // Whoever had it started may have deleted the spool since.
        if (options.existing === true && io.findSpool() === undefined) {
          throw new Refused(`there is no spool at ${io.home}`, 'leave out --existing');
        }
        const { wait = DEFAULT_WAIT_MS, asked = world.now() } = options;
        await beDaemon(io, { ...settings, waitMs: wait, askedAt: asked });
      }),
    );
}

async function beDaemon(
  io: CommandIo,
  settings: DaemonSettings & { readonly waitMs: number; readonly askedAt: number },
): Promise<void> {
  const { world, home } = io;
  const spool = await io.makeSpool();
  const { runDaemon } = await import('../daemon/run-daemon.ts');
  const { createLog } = await import('../daemon/daemon-log.ts');
  const now = (): number => world.now();
  const log = createLog(spoolFile.log(home), now);
  const signal = world.catchInterrupt();
  const end = await runDaemon({ spool, log, ...settings, graceMs: GRACE_MS, signal, now });
  if (end === 'taken') {
    throw new Refused(`another daemon serves ${home}`, 'see "notifier status"');
  }
}

async function startDaemon(io: CommandIo, settings: DaemonSettings): Promise<void> {
  const { world, home } = io;
  await io.makeSpool();
  const wasRunning = isServed(home);
  if (!wasRunning) await world.spawn(daemonArgv(home, settings, world.now()), spoolFile.log(home));
  for (const until = world.now() + START_MS; world.now() < until; await sleep(20)) {
    const note = isServed(home) ? readDaemonNote(home) : undefined;
    if (note === undefined) continue;
    const text = wasRunning ? 'Already running' : 'Started';
    await io.print(`${text} (process ${note.pid})\n`, { pid: note.pid, started: !wasRunning });
    return;
  }
  throw new Refused('the daemon did not start', `read ${spoolFile.log(home)}`);
}
