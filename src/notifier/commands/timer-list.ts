import type { Command } from 'commander';
import { toPlainLine } from '../../cli/plain-text.ts';
import { toTime } from '../../cli/quantity.ts';
import { toTable } from '../../cli/table.ts';
import { defineCommand, withIo } from '../command.ts';
import { timeAfter } from '../daemon/timer-table.ts';
import type { World } from '../world.ts';

const COMMAND_CHARS = 60;

export function timerList(world: World): Command {
  return defineCommand('list', 'List timers with their next times.', [
    'notifier timer list',
    'notifier timer list --json',
  ]).action(
    withIo(world, async (io) => {
      const spool = io.findSpool();
      const rows: string[][] = [];
      for (const id of (await spool?.listIds('timers')) ?? []) {
        const timer = await spool?.getTimer(id);
        if (timer === undefined) continue;
        const nextAt = timeAfter(timer, world.now());
        const next = nextAt === undefined ? 'never' : toTime(nextAt);
        const { env: _, ...shown } = timer;
        if (io.json) await io.print('', { ...shown, nextAt: nextAt ?? null });
        rows.push([id, timer.cron, timer.zone, next, toPlainLine(timer.command, COMMAND_CHARS)]);
      }
      if (io.json || rows.length === 0) return;
      await world.out(toTable(['TIMER', 'CRON', 'ZONE', 'NEXT', 'COMMAND'], rows));
    }),
  );
}
