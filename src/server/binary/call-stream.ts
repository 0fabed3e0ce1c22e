import { toCall } from '../../wire/call-values.ts';
import { MessageType } from '../../wire/message-type.ts';
import { encodeStream } from '../../wire/stream.ts';
import type { StreamPush } from '../../wire/stream.ts';
import type { Caller } from '../calls/call-handler.ts';
import type { LongTask } from '../request/long-tasks.ts';
import type { Session } from '../request/request.ts';
import { isOwnFault, toWireError } from '../request/wire-error.ts';

/** Sends the answers of one CALL that has many. Asks for the next answer when the last one found room. */
export class CallStream implements LongTask {
  readonly kind = 'stream';
  readonly #session: Session;
  readonly #reqId: Buffer;
  readonly #run: (caller: Caller) => AsyncIterable<unknown>;
  readonly #abort = new AbortController();
  #over = false;

  constructor(session: Session, reqId: Buffer, run: (caller: Caller) => AsyncIterable<unknown>) {
    this.#session = session;
    this.#reqId = reqId;
    this.#run = run;
  }

  start(): void {
    if (!this.#over) void this.#pump();
  }

  cancel(error?: Error): void {
    if (error !== undefined) this.#end(this.#failure(error));
    this.#over = true;
    this.#abort.abort();
  }

  /** Never rejects. */
  async #pump(): Promise<void> {
    const { identity } = this.#session;
    try {
      for await (const item of this.#run({ identity, signal: this.#abort.signal })) {
        if (this.#over) return;
        this.#push({ kind: 'item', body: toCall(item) });
        await this.#session.room();
      }
      this.#end({ kind: 'end' });
    } catch (error) {
      if (this.#over) return;
      if (isOwnFault(error)) this.#session.failed(error);
      this.#end(this.#failure(error));
      this.#abort.abort();
    }
  }

  #failure(error: unknown): StreamPush {
    return { kind: 'error', error: toWireError(error, this.#session.knowsQuipu) };
  }

  #end(push: StreamPush): void {
    if (this.#over) return;
    this.#over = true;
    this.#session.tasks.end(this.#reqId, this);
    this.#push(push);
  }

  #push(push: StreamPush): void {
    this.#session.push(MessageType.STREAM, this.#reqId, encodeStream(push));
  }
}
