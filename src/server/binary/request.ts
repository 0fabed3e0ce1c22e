import type { Scope } from '../access.ts';
import type { Parts } from '../../wire/byte-writer.ts';
import type { Frame } from '../../wire/frame.ts';
import type { Order } from './request-order.ts';
import type { Session } from './session.ts';

/** A message of a client, with only the flags that count. */
export class Request {
  readonly type: number;
  readonly flags: number;
  readonly reqId: Buffer;
  readonly payload: Buffer;

  constructor({ type, reqId, payload }: Frame, flags: number) {
    this.type = type;
    this.flags = flags;
    this.reqId = reqId;
    this.payload = payload;
  }
}

export interface Reply {
  readonly parts: Parts;
  /** Called when the reply is on its way, so that more frames may follow it. */
  readonly sent?: () => void;
}

/** A request that the server has understood. */
export interface Job {
  readonly order: Order;
  /** A name for hooks, where the type of the message does not say enough. */
  readonly name?: string;
  run(): Promise<Reply>;
}

/** The handler that answers one type of message. */
export interface MessageHandler {
  readonly name: string;
  readonly needs: Scope;
  /** Throws for a mistake in the message itself, before anything is done. */
  plan(request: Request, session: Session): Job;
}

export type MessageTable = ReadonlyMap<number, MessageHandler>;
