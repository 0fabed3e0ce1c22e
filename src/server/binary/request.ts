import type { Scope } from '../access.ts';
import type { Parts } from '../../wire/byte-writer.ts';
import type { Frame } from '../../wire/frame.ts';
import type { Order } from './request-order.ts';
import type { Session } from './session.ts';

/** A message of a client, its flags reduced to those that count. */
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
  /** Called when the reply is on its way and something may follow it. */
  readonly sent?: () => void;
}

/** A request that was understood. */
export interface Job {
  readonly order: Order;
  /** For hooks, where the type of the message does not say enough. */
  readonly name?: string;
  run(): Promise<Reply>;
}

/** How one type of message is answered. */
export interface MessageHandler {
  readonly name: string;
  readonly needs: Scope;
  /** Throws for what is wrong with the message itself, before anything is done. */
  plan(request: Request, session: Session): Job;
}

export type MessageTable = ReadonlyMap<number, MessageHandler>;
