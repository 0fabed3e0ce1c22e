import type { Command } from 'commander';
import { toTime } from '../../cli/quantity.ts';
import { toFacts } from '../../cli/table.ts';
import { defineCommand, withIo } from '../command.ts';
import { isServed, readDaemonNote } from '../daemon/daemon-note.ts';
import type { World } from '../world.ts';

export function status(world: World): Command {
  return defineCommand('status', 'Say whether the daemon runs, and what there is for it.', [
    'notifier status',
    'notifier status --json',
  ]).action(
    withIo(world, async (io) => {
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
    }),
  );
}
