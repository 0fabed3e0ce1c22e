import { isServed } from './daemon/daemon-note.ts';
import { isStopRequested } from './daemon/stop-request.ts';
import type { DaemonSettings } from './daemon-settings.ts';
import { daemonArgv } from './daemon-settings.ts';
import { spoolFile } from './spool/home.ts';
import type { NotifierShell } from './shell.ts';

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
    const why = error instanceof Error ? error.message : String(error);
    shell.err(`Warning: the daemon could not be started (${why}) - run "notifier start"\n`);
  }
}
