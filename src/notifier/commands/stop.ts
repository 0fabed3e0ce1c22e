import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { parseDuration } from '../../cli/parse-amount.ts';
import { defineCommand, withIo } from '../command.ts';
import { isServed, readDaemonNote } from '../daemon/daemon-note.ts';
import { isStopRequested, requestStop } from '../daemon/stop-request.ts';
import { Refused } from '../refused.ts';
import type { World } from '../world.ts';

const DEFAULT_WAIT_MS = 15_000;

export function stop(world: World): Command {
  return defineCommand(
    'stop',
    'End the daemon and the tasks it runs; they run again with the next one.',
    ['notifier stop', 'notifier stop --wait 1m'],
  )
    .option(
      '--wait <time>',
      'how long to wait for its end (default: 15s)',
      parseDuration,
      DEFAULT_WAIT_MS,
    )
    .action(
      withIo(world, async (io, { wait }: { readonly wait: number }) => {
        if (io.findSpool() === undefined) {
          await io.print('Not running\n', { stopped: false });
          return;
        }
        let stopped = isServed(io.home);
        // A file and no signal: the number of a process that died may be another's by now. Also when nobody has the
        // lock: who gets it a moment later must find it.
        requestStop(io.home, world.now());
        for (const until = world.now() + wait; isServed(io.home); await sleep(20)) {
          stopped = true;
          if (!isStopRequested(io.home)) requestStop(io.home, world.now());
          if (world.now() < until) continue;
          const pid = readDaemonNote(io.home)?.pid ?? 'unknown';
          throw new Refused(
            `the daemon (process ${pid}) has not ended yet`,
            'it was told to; wait longer with --wait',
          );
        }
        await io.print(stopped ? 'Stopped\n' : 'Not running\n', { stopped });
      }),
    );
}
