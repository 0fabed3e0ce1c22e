import type { Batch } from '../../engine/batch.ts';
import { appendTurnFlags, decodeRowAck, encodeAppendTurn } from '../../wire/append-turn.ts';
import type { AppendTurn } from '../../wire/append-turn.ts';
import { lengthOf } from '../../wire/byte-writer.ts';
import type { Parts } from '../../wire/byte-writer.ts';
import { fromCall, toCall } from '../../wire/call-values.ts';
import { decodeCallReply, encodeCall } from '../../wire/call.ts';
import { MessageType } from '../../wire/message-type.ts';
import { toAppend, toCommitted } from './append-message.ts';

/** A request as it travels, and the decoder of its reply. */
export interface OutgoingMessage {
  readonly type: number;
  readonly flags: number;
  readonly parts: Parts;
  readonly bytes: number;
  /** Nobody will write to the parts any more, so they need not be copied to be sent. */
  readonly kept: boolean;
  read(reply: Buffer): unknown;
}

/** Turns a call into the shortest message that expresses it. */
export function toMessage(method: string, args: readonly unknown[]): OutgoingMessage {
  const append = method === 'engine.commit' ? toAppend(args[0] as Batch) : undefined;
  return append === undefined ? new CallMessage(method, args) : new AppendMessage(append);
}

class AppendMessage implements OutgoingMessage {
  readonly type: number = MessageType.APPEND_TURN;
  readonly flags: number;
  readonly parts: Parts;
  readonly bytes: number;
  readonly kept = true;

  constructor(append: AppendTurn) {
    this.flags = appendTurnFlags(append);
    this.parts = encodeAppendTurn(append);
    this.bytes = lengthOf(this.parts);
  }

  read(reply: Buffer): unknown {
    return toCommitted(decodeRowAck(reply));
  }
}

class CallMessage implements OutgoingMessage {
  readonly type: number = MessageType.CALL;
  readonly flags = 0;
  readonly parts: Parts;
  readonly bytes: number;
  readonly kept = false;

  constructor(method: string, args: readonly unknown[]) {
    this.parts = encodeCall({ method, body: toCall(args) });
    this.bytes = lengthOf(this.parts);
  }

  read(reply: Buffer): unknown {
    return fromCall(decodeCallReply(reply));
  }
}
