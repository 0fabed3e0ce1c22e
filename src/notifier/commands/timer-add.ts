import type { Command } from 'commander';
import { invalid } from '../../base/errors.ts';
import { toTime } from '../../cli/quantity.ts';
import { defineCommand, withIo } from '../command.ts';
import { nextTime } from '../cron/next-time.ts';
import { parseCron } from '../cron/parse-cron.ts';
import { openZone } from '../cron/zone.ts';
import { readSettings } from '../daemon-settings.ts';
import { ensureDaemon } from '../ensure-daemon.ts';
import { Refused } from '../refused.ts';
import { checkAuthor, checkCommand, checkId } from '../spool/task.ts';
import { MAX_TIMER_ID_CHARS } from '../spool/timer.ts';
import type { World } from '../world.ts';
import { recordCaller } from './record-caller.ts';

interface Options {
  readonly timerId: string;
  readonly cron: string;
  readonly command: string;
  readonly author?: string;
  readonly zone?: string;
}

export function timerAdd(world: World): Command {
  return defineCommand('add', 'Have a command run at the times a cron line names.', [
    'notifier timer add --timer-id nightly --cron "30 2 * * *" --command "make report"',
    'notifier timer add --timer-id poll --cron "*/5 9-17 * * mon-fri" --zone Europe/Berlin --command ./poll',
  ])
    .requiredOption('--timer-id <id>', 'its name')
    .requiredOption('--cron <line>', 'minute, hour, day, month and weekday')
    .requiredOption('--command <line>', 'what to run, as a line for the shell')
    .option('--author <name>', 'who asks for it')
    .option('--zone <name>', "whose clocks are meant (default: this machine's)")
    .action(
      withIo(world, async (io, options: Options) => {
        const zone = options.zone ?? world.zone;
        const next = nextTime(parseCron(options.cron), openZone(zone), world.now());
        if (next === undefined) throw invalid('cron', `names no date there is: "${options.cron}"`);
        const settings = readSettings(world.env);
        const timer = {
          id: checkId('timer-id', options.timerId, MAX_TIMER_ID_CHARS),
          author: checkAuthor(options.author ?? ''),
          command: checkCommand(options.command),
          cron: options.cron,
          zone,
          ...recordCaller(world),
        };
        const spool = await io.makeSpool();
        const added = await spool.addTimer(timer);
        await ensureDaemon(io.home, settings, world);
        if (!added) {
          throw new Refused(
            `there is a timer ${timer.id} already`,
            `remove it first with "notifier timer remove ${timer.id}"`,
          );
        }
        const text = `Added timer ${timer.id}, next at ${toTime(next)}\n`;
        await io.print(text, { id: timer.id, nextAt: next });
      }),
    );
}
