import { QuipuError } from '../../base/errors.ts';
import type { Frame } from '../../wire/frame.ts';
import { countingFlags } from '../../wire/request-flags.ts';
import { assertAllowed } from '../access/access.ts';
import { Request } from '../request/request.ts';
import type { Job, MessageHandler, Session } from '../request/request.ts';

/** Throws for a request that the server does not understand, or that the client may not make. */
export function planRequest(
  frame: Frame,
  handler: MessageHandler | undefined,
  session: Session,
): Job {
  const { identity, knowsQuipu } = session;
  if (handler === undefined) throw unknownType(frame.type);
  assertAllowed(identity, handler.needs);
  const flags = countingFlags(frame.type, frame.flags, knowsQuipu);
  return handler.plan(new Request(frame, flags), session);
}

function unknownType(type: number): QuipuError<'UNSUPPORTED'> {
  const data = { what: 'msg_type', found: String(type) };
  return new QuipuError('UNSUPPORTED', 'unknown msg_type', data);
}
