import { Refused, recordCaller, notifierVerb, type NotifierVerb } from './command.ts';
import { invalid } from '../../base/errors.ts';
import { toPlainLine, toTable, toTime } from '../../cli/kit/text.ts';
import { argument, option, required } from '../../cli/kit/verb.ts';
import { nextTime, parseCron, timeAfter, openZone } from '../daemon/cron.ts';
import { ensureDaemon, readSettings } from './daemon.ts';
import { MAX_TIMER_ID_CHARS, checkAuthor, checkCommand, checkId } from '../spool/records.ts';

const add = notifierVerb({
  name: 'add',
  summary: 'Run a command at the times of a cron line.',
  examples: [
    'notifier timer add --timer-id nightly --cron "30 2 * * *" --command "make report"',
    'notifier timer add --timer-id poll --cron "*/5 9-17 * * mon-fri" --zone Europe/Berlin --command ./poll',
  ],
  takes: [
    required('--timer-id <id>', 'its name'),
    required('--cron <line>', 'minute, hour, day, month and weekday'),
    required('--command <line>', 'what to run, as a line for the shell'),
    option('--author <name>', 'who asks for it'),
    option('--zone <name>', "the time zone (default: this machine's)"),
  ],
  async run(io, options) {
    const { shell } = io;
    const zone = options.zone ?? shell.zone;
    const next = nextTime(parseCron(options.cron), openZone(zone), shell.now());
    if (next === undefined)
      throw invalid('cron', `names a date that does not exist: "${options.cron}"`);
    const settings = readSettings(shell.env);
    const timer = {
      id: checkId('timer-id', options.timerId, MAX_TIMER_ID_CHARS),
      author: checkAuthor(options.author ?? ''),
      command: checkCommand(options.command),
      cron: options.cron,
      zone,
      ...recordCaller(shell),
    };
    const spool = await io.makeSpool();
    const added = await spool.addTimer(timer);
    await ensureDaemon(io.home, settings, shell);
    if (!added) {
      throw new Refused(
        `there is a timer ${timer.id} already`,
        `remove it first with "notifier timer remove ${timer.id}"`,
      );
    }
    const text = `Added timer ${timer.id}, next at ${toTime(next)}\n`;
    await io.print(text, { id: timer.id, nextAt: next });
  },
});

const COMMAND_CHARS = 60;

const list = notifierVerb({
  name: 'list',
  summary: 'List timers with their next times.',
  examples: ['notifier timer list', 'notifier timer list --json'],
  async run(io) {
    const { shell } = io;
    const spool = io.findSpool();
    const rows: string[][] = [];
    for (const timer of (await spool?.listTimers()) ?? []) {
      const nextAt = timeAfter(timer, shell.now());
      const next = nextAt === undefined ? 'never' : toTime(nextAt);
      const { env: _, ...shown } = timer;
      if (io.json) await io.print('', { ...shown, nextAt: nextAt ?? null });
      rows.push([
        timer.id,
        timer.cron,
        timer.zone,
        next,
        toPlainLine(timer.command, COMMAND_CHARS),
      ]);
    }
    if (io.json || rows.length === 0) return;
    await shell.out(toTable(['TIMER', 'CRON', 'ZONE', 'NEXT', 'COMMAND'], rows));
  },
});

const remove = notifierVerb({
  name: 'remove',
  summary: 'End a timer; a task it has added already stays.',
  examples: ['notifier timer remove nightly'],
  takes: [argument('<timer-id>', 'its name')],
  async run(io, given) {
    const id = checkId('timer-id', given);
    if ((await io.findSpool()?.remove('timers', id)) !== true) {
      throw new Refused(`there is no timer ${id}`, 'see "notifier timer list"');
    }
    await io.print(`Removed timer ${id}\n`, { id });
  },
});

export const timerVerbs: readonly NotifierVerb[] = [add, list, remove];
