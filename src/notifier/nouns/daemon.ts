import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { InvalidArgumentError } from 'commander';
import { invalid, messageOf } from '../../base/errors.ts';
import { parseCount, parseDuration } from '../../cli/kit/parse.ts';
import { toFacts, toTime } from '../../cli/kit/text.ts';
import { option } from '../../cli/kit/verb.ts';
import {
  isServed,
  isStopRequested,
  readDaemonNote,
  requestStop,
  spoolFile,
} from '../spool/home.ts';
import {
  Refused,
  notifierVerb,
  type CommandIo,
  type NotifierShell,
  type NotifierVerb,
} from './command.ts';

/** A moment, because processes that ask whether the lock is taken touch it too. */
const DEFAULT_WAIT_MS = 300;
const GRACE_MS = 5000;
const START_MS = 10_000;

const start = notifierVerb({
  name: 'start',
  summary: 'Start the daemon, if none runs. Adding a task does it, too.',
  examples: ['notifier start', 'notifier start --tasks 8 --idle 1h', 'notifier start --foreground'],
  takes: [
    option('--tasks <n>', 'how many run side by side (default: $NOTIFIER_TASKS, 4)', parseLimit),
    option(
      '--idle <time>',
      'end after this long without tasks and timers (default: $NOTIFIER_IDLE, 60s)',
      parseDuration,
    ),
    option(
      '--foreground',
      'run as the daemon; ends with 0 when idle or stopped, with 1 when another one runs',
    ),
    option(
      '--existing',
      'with --foreground: end with 1 where there is no spool, instead of making one',
    ),
    option(
      '--wait <time>',
      'how long to wait for a daemon that is leaving (default: 300ms)',
      parseDuration,
    ),
    option(
      '--asked <ms>',
      'with --foreground: when it was asked for, since 1970; it heeds a stop after that (default: now)',
      parseCount,
    ),
  ],
  async run(io, options) {
    const { shell } = io;
    const { limit, idleMs } = readSettings(shell.env);
    const settings = { limit: options.tasks ?? limit, idleMs: options.idle ?? idleMs };
    if (options.foreground !== true) return startDaemon(io, settings);
    // The process that started this daemon may have deleted the spool since.
    if (options.existing === true && io.findSpool() === undefined) {
      throw new Refused(`there is no spool at ${io.home}`, 'leave out --existing');
    }
    const { wait = DEFAULT_WAIT_MS, asked = shell.now() } = options;
    await beDaemon(io, { ...settings, waitMs: wait, askedAt: asked });
  },
});

async function beDaemon(
  io: CommandIo,
  settings: DaemonSettings & { readonly waitMs: number; readonly askedAt: number },
): Promise<void> {
  const { shell, home } = io;
  const spool = await io.makeSpool();
  const { createLog, runDaemon } = await import('../daemon/run-daemon.ts');
  const now = (): number => shell.now();
  const log = createLog(spoolFile(home, 'log'), now);
  const signal = shell.catchInterrupt();
  const end = await runDaemon({ spool, log, ...settings, graceMs: GRACE_MS, signal, now });
  if (end === 'taken') {
    throw new Refused(`another daemon serves ${home}`, 'see "notifier status"');
  }
}

async function startDaemon(io: CommandIo, settings: DaemonSettings): Promise<void> {
  const { shell, home } = io;
  await io.makeSpool();
  const wasRunning = isServed(home);
  if (!wasRunning)
    await shell.spawn(daemonArgv(home, settings, shell.now()), spoolFile(home, 'log'));
  for (const until = shell.now() + START_MS; shell.now() < until; await sleep(20)) {
    const note = isServed(home) ? readDaemonNote(home) : undefined;
    if (note === undefined) continue;
    const text = wasRunning ? 'Already running' : 'Started';
    await io.print(`${text} (process ${note.pid})\n`, { pid: note.pid, started: !wasRunning });
    return;
  }
  throw new Refused('the daemon did not start', `read ${spoolFile(home, 'log')}`);
}

const STOP_WAIT_MS = 15_000;

const stop = notifierVerb({
  name: 'stop',
  summary: 'End the daemon and the tasks it runs; they run again with the next one.',
  examples: ['notifier stop', 'notifier stop --wait 1m'],
  takes: [option('--wait <time>', 'how long to wait for its end (default: 15s)', parseDuration)],
  async run(io, { wait = STOP_WAIT_MS }) {
    const { shell } = io;
    if (io.findSpool() === undefined) {
      await io.print('Not running\n', { stopped: false });
      return;
    }
    let stopped = isServed(io.home);
    // This uses a file and no signal: the number of a process that died may be another's by now. The file is written
    // also when nobody has the lock: a daemon that gets it a moment later must find the request.
    requestStop(io.home, shell.now());
    for (const until = shell.now() + wait; isServed(io.home); await sleep(20)) {
      stopped = true;
      if (!isStopRequested(io.home)) requestStop(io.home, shell.now());
      if (shell.now() < until) continue;
      const pid = readDaemonNote(io.home)?.pid ?? 'unknown';
      throw new Refused(
        `the daemon (process ${pid}) has not ended yet`,
        'it was told to; wait longer with --wait',
      );
    }
    await io.print(stopped ? 'Stopped\n' : 'Not running\n', { stopped });
  },
});

const status = notifierVerb({
  name: 'status',
  summary: 'Show whether the daemon runs, and how many tasks and timers it has.',
  examples: ['notifier status', 'notifier status --json'],
  async run(io) {
    const spool = io.findSpool();
    const running = spool !== undefined && isServed(io.home);
    const note = running ? readDaemonNote(io.home) : undefined;
    const count = async (state: 'pending' | 'running' | 'error' | 'timers'): Promise<number> =>
      (await spool?.countOf(state)) ?? 0;
    const value = {
      home: io.home,
      daemon: note ?? (running ? {} : null),
      pending: await count('pending'),
      running: running ? await count('running') : 0,
      interrupted: running ? 0 : await count('running'),
      error: await count('error'),
      damaged: (await spool?.countOf('damaged')) ?? 0,
      timers: await count('timers'),
    };
    const who = note === undefined ? '' : ` (process ${note.pid} since ${toTime(note.since)})`;
    const facts = Object.entries({ ...value, daemon: running ? `running${who}` : 'not running' });
    await io.print(toFacts(facts.map(([name, fact]) => [name, String(fact)])), value);
  },
});

const UNIT = 'quipu-notifier';

const install = notifierVerb({
  name: 'install',
  summary:
    'Write a service that starts the daemon and wakes the consumers of threads after a restart of the machine.',
  examples: ['notifier install', 'notifier install --print'],
  takes: [option('--print', 'print the service, and write nothing')],
  async run(io, { print = false }) {
    const { shell } = io;
    const { file, text, next } = choose(shell, io.home);
    if (print) return io.print(text, { file, text });
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    await io.print(`Wrote ${file}\nNow run: ${next}\n`, { file, next });
  },
});

/** Chooses the unit for a user of this system. `next`: the command that makes it take effect. */
function choose(shell: NotifierShell, home: string): { file: string; text: string; next: string } {
  const { platform, env, userHome, programs } = shell;
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

export const daemonVerbs: readonly NotifierVerb[] = [start, stop, status, install];

// Service files that make a machine start the daemon and wake the consumers of threads when its user logs in, or when
// it starts.

type StartUnit = Pick<CommandIo, 'home'> & Pick<NotifierShell, 'programs'>;

/** For systemd. The unit stays active with the processes it started: handlers are not killed with it. */
export function toSystemdUnit({ home, programs: { node, notifier, thread } }: StartUnit): string {
  const line = (...words: readonly string[]): string => words.map(quoteForSystemd).join(' ');
  return `[Unit]
Description=Wakes the consumers of threads and runs what notifier was asked to run

[Service]
Type=oneshot
RemainAfterExit=yes
KillMode=process
Environment=${quoteForSystemd(`NOTIFIER_HOME=${home}`)}
ExecStart=${line(node, notifier, 'start')}
ExecStart=${line(node, thread, 'dispatch', '--all')}

[Install]
WantedBy=default.target
`;
}

/** For launchd, on macOS. */
export function toLaunchAgent({ home, programs: { node, notifier, thread } }: StartUnit): string {
  const script =
    'NOTIFIER_HOME="$0"; export NOTIFIER_HOME; "$1" "$2" start; "$1" "$3" dispatch --all';
  const words = ['/bin/sh', '-c', script, home, node, notifier, thread];
  const items = words.map((word) => `    <string>${escapeXml(word)}</string>\n`).join('');
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>quipu-notifier</string>
  <key>ProgramArguments</key>
  <array>
${items}  </array>
  <key>RunAtLoad</key>
  <true/>
  <key>AbandonProcessGroup</key>
  <true/>
</dict>
</plist>
`;
}

/** Quotes a text as one word, without the meanings that `%` and `$` have in a unit file. */
function quoteForSystemd(word: string): string {
  const escaped = word
    .replaceAll(/["\\]/g, String.raw`\$&`)
    .replaceAll('%', '%%')
    .replaceAll('$', '$$$$');
  return `"${escaped}"`;
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

const MAX_LIMIT = 256;

interface DaemonSettings {
  /** The number of tasks that run side by side. */
  readonly limit: number;
  readonly idleMs: number;
}

/**
 * Reads `NOTIFIER_TASKS` and `NOTIFIER_IDLE`; the defaults are 4 and a minute. Throws INVALID when they make no sense.
 */
export function readSettings(env: Readonly<Record<string, string | undefined>>): DaemonSettings {
  const read = <T>(name: string, parse: (text: string) => T, fallback: T): T => {
    const text = env[name];
    if (text === undefined || text === '') return fallback;
    try {
      return parse(text);
    } catch (error) {
      if (!(error instanceof InvalidArgumentError)) throw error;
      throw invalid(name, `is ${JSON.stringify(text)}. ${error.message}`);
    }
  };
  return {
    limit: read('NOTIFIER_TASKS', parseLimit, 4),
    idleMs: read('NOTIFIER_IDLE', parseDuration, 60_000),
  };
}

function parseLimit(text: string): number {
  const count = parseCount(text);
  if (count >= 1 && count <= MAX_LIMIT) return count;
  throw new InvalidArgumentError(`Expected a number from 1 to ${MAX_LIMIT}.`);
}

/** The arguments that make a process the daemon of an existing spool. `askedAt`: now. */
function daemonArgv(home: string, { limit, idleMs }: DaemonSettings, askedAt: number): string[] {
  const settings = ['--tasks', `${limit}`, '--idle', `${idleMs}ms`, '--asked', `${askedAt}`];
  return ['start', '--foreground', '--existing', '--home', home, ...settings];
}

/**
 * Starts a daemon unless one serves the spool. Call this after a task is in the spool. A daemon looks once more after
 * it released the lock, so either the daemon finds the task or this function finds the lock free. The task is safe in
 * any case.
 */
export async function ensureDaemon(
  home: string,
  settings: DaemonSettings,
  shell: NotifierShell,
): Promise<void> {
  try {
    // A daemon that was told to stop will not look at tasks that were added since. The new daemon waits for its end.
    const isLeaving = isStopRequested(home);
    const isTaken = isServed(home);
    if (isTaken && !isLeaving) return;
    const wait = isTaken ? ['--wait', '20s'] : [];
    const argv = daemonArgv(home, settings, shell.now());
    await shell.spawn([...argv, ...wait], spoolFile(home, 'log'));
  } catch (error) {
    const why = messageOf(error);
    shell.err(`Warning: the daemon could not be started (${why}) - run "notifier start"\n`);
  }
}
