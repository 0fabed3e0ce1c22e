/** A message of the protocol, whole; the greeting has no type. */
export interface WireMessage {
  readonly type: string;
  readonly bytes: Buffer;
}

/** Cuts a stream of bytes into messages. */
export class WireMessages {
  #rest: Buffer = Buffer.alloc(0);
  #typeBytes: 0 | 1;

  constructor(begin: 'greeting' | 'messages' = 'messages') {
    this.#typeBytes = begin === 'greeting' ? 0 : 1;
  }

  /** The greeting is over: what follows has types. */
  greeted(): void {
    this.#typeBytes = 1;
  }

  *read(bytes: Buffer): Generator<WireMessage> {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    while (this.#rest.length >= 4 + this.#typeBytes) {
      const length = this.#typeBytes + this.#rest.readInt32BE(this.#typeBytes);
      if (this.#rest.length < length) return;
      const whole = this.#rest.subarray(0, length);
      this.#rest = this.#rest.subarray(length);
      yield { type: this.#typeBytes === 0 ? '' : String.fromCharCode(whole[0] ?? 0), bytes: whole };
    }
  }
}

export function message(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

export function errorMessage(code: string, text: string): Buffer {
  return message('E', Buffer.from(`SFATAL\0VFATAL\0C${code}\0M${text}\0\0`));
}

/** The text that ends with a zero. */
export function textAt(bytes: Buffer, start: number): string {
  return bytes.toString('utf8', start, bytes.indexOf(0, start));
}
