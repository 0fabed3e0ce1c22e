import { QuipuError } from '../../base/errors.ts';
import type { Frame } from '../../wire/frame.ts';
import { countingFlags } from '../../wire/request-flags.ts';
import { assertAllowed } from './assert-allowed.ts';
import type { Job, MessageTable } from './request.ts';
import type { Session } from './session.ts';

/** A request that was understood or not, and what it is called. */
export type PlannedRequest =
  | { readonly name: string; readonly job: Job }
  | { readonly name: string; readonly job?: undefined; readonly problem: unknown };

/** Never throws: a request that is not understood gets its reply in its turn, like any other. */
export function planRequest(
  frame: Frame,
  messages: MessageTable,
  session: Session,
): PlannedRequest {
  const handler = messages.get(frame.type);
  const name = handler?.name ?? 'unknown';
  try {
    const { identity, knowsQuipu } = session;
    if (handler === undefined) throw unknownType(frame.type);
    assertAllowed(identity, handler.needs);
    const flags = countingFlags(frame.type, frame.flags, knowsQuipu);
    const { type, reqId, payload } = frame;
    const job = handler.plan({ type, flags, reqId, payload }, session);
    return { name: job.name ?? name, job };
  } catch (problem) {
    return { name, problem };
  }
}

function unknownType(type: number): QuipuError<'UNSUPPORTED'> {
  const data = { what: 'msg_type', found: String(type) };
  return new QuipuError('UNSUPPORTED', 'unknown msg_type', data);
}
