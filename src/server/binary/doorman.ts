import { QuipuError } from '../../base/errors.ts';
import type { Parts } from '../../wire/byte-codec.ts';
import {
  PROTOCOL_VERSION,
  decodeHello,
  encodeHelloReply,
  parseHelloMeta,
} from '../../wire/hello.ts';
import { RAW_BYTES_MAX } from '../../wire/limits.ts';
import type { Access, Identity } from '../access/access.ts';

/** The capabilities of this server, for clients that ask for them. */
const CAPS = JSON.stringify({ server: 'quipu', ext: 1, max_payload: RAW_BYTES_MAX });

/** Knows the identity behind a connection, and what the client said about itself. */
export class Doorman {
  readonly #access: Access;
  readonly #onEnded: () => void;
  #identity: Identity | undefined;
  #tag: string | undefined;
  #knowsQuipu = false;

  /** `onEnded` is called when a valid identity loses its validity. */
  constructor(access: Access, onEnded: () => void) {
    this.#access = access;
    this.#onEnded = onEnded;
  }

  /** Undefined until the client is authenticated. */
  get identity(): Identity | undefined {
    return this.#identity;
  }

  get tag(): string {
    return this.#tag ?? '';
  }

  /** True after a HELLO of a client that may come in. */
  get hasGreeted(): boolean {
    return this.#tag !== undefined && this.#identity !== undefined;
  }

  get knowsQuipu(): boolean {
    return this.#knowsQuipu;
  }

  /** Where no token is needed, every client has an identity before it says anything. */
  async admitAnyone(): Promise<void> {
    if (!this.#access.tokensNeeded) this.#become(await this.#access.identify(undefined));
  }

  /** Answers a HELLO. UNAUTHORIZED for a client that may not come in. */
  async greet(hello: Uint8Array, sessionId: bigint): Promise<Parts> {
    const { tag, meta } = decodeHello(hello);
    const { token, quipu } = parseHelloMeta(meta);
    this.#knowsQuipu ||= quipu;
    this.#tag ??= tag;
    if (token !== undefined || this.#identity === undefined) {
      this.#become(await this.#access.identify(token));
    }
    if (this.#identity === undefined) throw unauthorized();
    return encodeHelloReply({
      sessionId,
      version: PROTOCOL_VERSION,
      caps: quipu ? CAPS : undefined,
    });
  }

  mustKnow(): Identity {
    if (this.#identity === undefined) throw unauthorized();
    return this.#identity;
  }

  leave(): void {
    this.#identity?.ended?.removeEventListener('abort', this.#onEnded);
  }

  #become(identity: Identity | undefined): void {
    this.leave();
    this.#identity = identity;
    if (identity?.ended?.aborted === true) this.#identity = undefined;
    else identity?.ended?.addEventListener('abort', this.#onEnded, { once: true });
  }
}

export function unauthorized(): QuipuError<'UNAUTHORIZED'> {
  return new QuipuError(
    'UNAUTHORIZED',
    'a valid token is needed; "quipu token create" makes one',
    {},
  );
}
