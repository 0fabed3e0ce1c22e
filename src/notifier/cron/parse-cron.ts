import { invalid } from '../../base/errors.ts';
import type { Cron } from './cron.ts';

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const MAX_CHARS = 1000;

interface Field {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  /** Names for the values from `min` on. */
  readonly words: readonly string[];
}

const MINUTE: Field = { name: 'minute', min: 0, max: 59, words: [] };
const HOUR: Field = { name: 'hour', min: 0, max: 23, words: [] };
const DAY: Field = { name: 'day of the month', min: 1, max: 31, words: [] };
const MONTH: Field = { name: 'month', min: 1, max: 12, words: MONTHS };
/** Sunday is 0 and 7. */
const WEEKDAY: Field = { name: 'day of the week', min: 0, max: 7, words: WEEKDAYS };

/**
 * Parses five fields: minute, hour, day of the month, month, day of the week. Throws INVALID, which names the wrong
 * field.
 */
export function parseCron(text: string): Cron {
  if (text.length > MAX_CHARS) throw invalid('cron', `is longer than ${MAX_CHARS} characters`);
  const fields = text.trim().split(/\s+/);
  if (fields.length !== 5 || fields[0] === '') {
    throw invalid(
      'cron',
      `takes five fields (minute hour day month weekday), such as "30 2 * * mon-fri"; got ${JSON.stringify(text)}`,
    );
  }
  const [minute, hour, day, month, weekday] = fields as [string, string, string, string, string];
  return {
    minutes: parseField(MINUTE, minute),
    hours: parseField(HOUR, hour),
    days: parseField(DAY, day),
    months: parseField(MONTH, month),
    weekdays: new Set([...parseField(WEEKDAY, weekday)].map((value) => value % 7)),
    eitherDay: !day.startsWith('*') && !weekday.startsWith('*'),
    namesTime: !minute.startsWith('*') && !hour.startsWith('*'),
  };
}

function parseField(field: Field, text: string): Set<number> {
  return new Set(text.split(',').flatMap((item) => parseItem(field, item)));
}

/** Parses `*`, `5`, `1-5`, and each of them with a step. `5/10` goes on to the end of the field. */
function parseItem(field: Field, item: string): number[] {
  const [, range = '', step] = /^([^/]*)(?:\/([0-9]{1,4}))?$/.exec(item) ?? [];
  const [, first = '', last] = /^([a-z0-9]+)(?:-([a-z0-9]+))?$/i.exec(range) ?? [];
  const every = step === undefined ? 1 : Number(step);
  if (every === 0 || (first === '' && range !== '*')) throw wrong(field, item);

  const from = range === '*' ? field.min : parseValue(field, first, item);
  const open = range === '*' || (last === undefined && step !== undefined);
  const to = open ? field.max : last === undefined ? from : parseValue(field, last, item);
  if (to < from) throw invalid('cron', `has the backward range "${item}" as ${field.name}`);
  return Array.from({ length: Math.floor((to - from) / every) + 1 }, (_, n) => from + n * every);
}

function parseValue(field: Field, text: string, item: string): number {
  const word = field.words.indexOf(text.toLowerCase());
  const value = word === -1 ? Number(text) : field.min + word;
  if ((word === -1 && !/^[0-9]{1,2}$/.test(text)) || value < field.min || value > field.max) {
    throw wrong(field, item);
  }
  return value;
}

function wrong({ name, min, max, words }: Field, item: string): Error {
  const named = words.length === 0 ? '' : ` or ${words[0]} to ${words.at(-1)}`;
  const expected = `${min} to ${max}${named}, a range "a-b", a step "*/n", or a list of them`;
  return invalid('cron', `has "${item}" as ${name}; expected ${expected}`);
}
