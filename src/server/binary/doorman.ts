import { QuipuError } from '../../base/errors.ts';
import { parseHelloMeta } from '../../wire/hello.ts';
import type { HelloRequest } from '../../wire/hello.ts';
import type { Access, Identity } from '../access.ts';

/** Who a connection belongs to, and what that client said of itself. */
export class Doorman {
  readonly #access: Access;
  readonly #onEnded: () => void;
  #identity: Identity | undefined;
  #tag: string | undefined;
  #knowsQuipu = false;

  /** `onEnded` is called when an identity that was good is so no more. */
  constructor(access: Access, onEnded: () => void) {
    this.#access = access;
    this.#onEnded = onEnded;
  }

  /** Undefined before it is known. */
  get identity(): Identity | undefined {
    return this.#identity;
  }

  get tag(): string {
    return this.#tag ?? '';
  }

  get knowsQuipu(): boolean {
    return this.#knowsQuipu;
  }

  /** Where no token is needed, everyone is someone before they say anything. */
  async admitAnyone(): Promise<void> {
    if (!this.#access.tokensNeeded) this.#become(await this.#access.identify(undefined));
  }

  /** UNAUTHORIZED for who may not come in. Says whether this client wants to hear what Quipu can do. */
  async greet({ tag, meta }: HelloRequest): Promise<{ quipu: boolean }> {
    const { token, quipu } = parseHelloMeta(meta);
    this.#knowsQuipu ||= quipu;
    this.#tag ??= tag;
    if (token !== undefined || this.#identity === undefined) {
      this.#become(await this.#access.identify(token));
    }
    if (this.#identity === undefined) throw unauthorized();
    return { quipu };
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
  return new QuipuError('UNAUTHORIZED', 'a valid token is needed', {});
}
