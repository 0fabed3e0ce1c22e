import { pino, stdSerializers } from 'pino';
import type { LogLevel } from './log-level.ts';
import { hideTokens } from '../access/token.ts';

/** One line of a log: facts, then words. Facts never hold a token or a payload. */
export interface Log {
  /** Absent when all levels are enabled. */
  isLevelEnabled?(level: LogLevel): boolean;
  debug(facts: object, words: string): void;
  info(facts: object, words: string): void;
  warn(facts: object, words: string): void;
  error(facts: object, words: string): void;
}

export interface LogOptions {
  readonly level: LogLevel;
  /** True: short lines for a person. False: one JSON object per line. */
  readonly forPeople: boolean;
  /** Writes whole lines. */
  readonly write: (text: string) => void;
}

const LEVEL_NAMES: ReadonlyMap<number, string> = new Map([
  [20, 'debug'],
  [30, 'info'],
  [40, 'WARN'],
  [50, 'ERROR'],
]);

export function createLog({ level, forPeople, write }: LogOptions): Log {
  const show = (line: string): void => {
    // Clients choose the content of paths, request ids and tags.
    const safe = hideTokens(line);
    write(forPeople ? toShortLine(safe) : safe);
  };
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: stdSerializers,
    },
    { write: show },
  );
}

/** `12:34:56 info  words  name=value …`, from a line of JSON. */
export function toShortLine(line: string): string {
  const { level, time, msg, ...facts } = JSON.parse(line) as Readonly<Record<string, unknown>>;
  const clock = String(time).slice(11, 19);
  const name = (LEVEL_NAMES.get(Number(level)) ?? String(level)).padEnd(5);
  const told = Object.entries(facts).map(([key, value]) => `${key}=${toFact(value)}`);
  return `${[clock, name, String(msg), ...told].join(' ')}\n`;
}

/** Quotes the value where a blank would run it into the next one. An error is shown as its message. */
function toFact(value: unknown): string {
  if (typeof value === 'object' && value !== null && 'message' in value) {
    return JSON.stringify(value.message);
  }
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return typeof value === 'string' && !/^[\x21-\x7e]+$/.test(text) ? JSON.stringify(text) : text;
}
