import { pino, stdSerializers } from 'pino';
import { hideTokens } from '../access/token-file.ts';
import type { BinaryHooks, SessionFacts } from '../request/request.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

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

/** Requests of the binary protocol come by the ten thousand a second, so they are logged at `debug` only. */
export function logHooks(log: Log): BinaryHooks {
  return {
    opened: (session) => log.debug(toFacts(session), 'connection opened'),
    closed: (session) => log.debug(toFacts(session), 'connection closed'),
    refused: () => log.warn({}, 'a connection was refused: there are too many'),
    ...((log.isLevelEnabled?.('debug') ?? true) && { answered: tellAnswered(log) }),
    failed: (err, session) => log.error({ ...toFacts(session), err }, 'a request failed'),
  };
}

function tellAnswered(log: Log): NonNullable<BinaryHooks['answered']> {
  return ({ session, message, code, ms }) =>
    log.debug({ ...toFacts(session), message, code, ms: Math.round(ms * 100) / 100 }, 'request');
}

/** One set of hooks that calls both. A hook that only one of them has is called directly. */
export function bothHooks(a: BinaryHooks, b: BinaryHooks): BinaryHooks {
  return {
    opened: inTurn(a.opened, b.opened),
    closed: inTurn(a.closed, b.closed),
    greeted: inTurn(a.greeted, b.greeted),
    made: inTurn(a.made, b.made),
    refused: inTurn(a.refused, b.refused),
    answered: inTurn(a.answered, b.answered),
    received: inTurn(a.received, b.received),
    sent: inTurn(a.sent, b.sent),
    failed: inTurn(a.failed, b.failed),
  };
}

type Hook<Told extends unknown[]> = ((...told: Told) => void) | undefined;

function inTurn<Told extends unknown[]>(a: Hook<Told>, b: Hook<Told>): Hook<Told> {
  if (a === undefined || b === undefined) return a ?? b;
  return (...told) => {
    a(...told);
    b(...told);
  };
}

function toFacts({ id, remote, identity, tag }: SessionFacts): object {
  return {
    session: String(id),
    remote,
    ...(identity !== undefined && { caller: identity }),
    ...(tag !== '' && { tag }),
  };
}
