import type { BinaryHooks, SessionFacts } from '../binary/hooks.ts';
import type { Log } from './log.ts';

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
