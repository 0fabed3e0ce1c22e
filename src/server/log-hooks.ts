import type { BinaryHooks, SessionFacts } from './binary/hooks.ts';
import type { Log } from './log.ts';

/** Requests of the binary protocol come by the ten thousand a second: they are told at `debug` only. */
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

/** One set of hooks that calls both. */
export function bothHooks(a: BinaryHooks, b: BinaryHooks): BinaryHooks {
  return {
    opened(session) {
      a.opened?.(session);
      b.opened?.(session);
    },
    closed(session) {
      a.closed?.(session);
      b.closed?.(session);
    },
    refused() {
      a.refused?.();
      b.refused?.();
    },
    answered(request) {
      a.answered?.(request);
      b.answered?.(request);
    },
    received(bytes) {
      a.received?.(bytes);
      b.received?.(bytes);
    },
    sent(bytes) {
      a.sent?.(bytes);
      b.sent?.(bytes);
    },
    failed(error, session) {
      a.failed?.(error, session);
      b.failed?.(error, session);
    },
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
