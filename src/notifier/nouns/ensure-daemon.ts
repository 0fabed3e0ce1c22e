import { InvalidArgumentError } from 'commander';
import { invalid, messageOf } from '../../base/errors.ts';
import { parseCount, parseDuration } from '../../cli/kit/parse.ts';
import { isServed, isStopRequested } from '../daemon/daemon-note.ts';
import { spoolFile } from '../spool/home.ts';
import type { NotifierShell } from './command.ts';

const MAX_LIMIT = 256;

export interface DaemonSettings {
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

export function parseLimit(text: string): number {
  const count = parseCount(text);
  if (count >= 1 && count <= MAX_LIMIT) return count;
  throw new InvalidArgumentError(`Expected a number from 1 to ${MAX_LIMIT}.`);
}

/** The arguments that make a process the daemon of an existing spool. `askedAt`: now. */
export function daemonArgv(
  home: string,
  { limit, idleMs }: DaemonSettings,
  askedAt: number,
): string[] {
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
    await shell.spawn([...argv, ...wait], spoolFile.log(home));
  } catch (error) {
    const why = messageOf(error);
    shell.err(`Warning: the daemon could not be started (${why}) - run "notifier start"\n`);
  }
}
