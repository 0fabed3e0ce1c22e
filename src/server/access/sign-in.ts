import { randomBytes } from 'node:crypto';

// Codes that stand for a token, each good for one use within a minute. A command that opens a browser hands the address
// over as an argument, which every user of the machine can read. A code that was used is worth nothing there.
// Invariants: a code gives its token once. Codes are kept in memory alone, and there are never more than a hundred.

const CODE_BYTES = 32;
const CODE_MS = 60_000;
const CODES_MAX = 100;

export interface OneTimeCode {
  readonly code: string;
  /** Unix time in milliseconds. */
  readonly expiresAt: number;
}

export class SignIn {
  readonly #now: () => number;
  /** By code, the oldest first. */
  readonly #offered = new Map<string, { readonly token: string; readonly expiresAt: number }>();

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** A code for a token that was checked. The oldest code gives way when there are too many. */
  offer(token: string): OneTimeCode {
    this.#forget();
    const [oldest] = this.#offered.keys();
    if (this.#offered.size >= CODES_MAX && oldest !== undefined) this.#offered.delete(oldest);
    const code = randomBytes(CODE_BYTES).toString('base64url');
    const expiresAt = this.#now() + CODE_MS;
    this.#offered.set(code, { token, expiresAt });
    return { code, expiresAt };
  }

  /** The token of a code, once. Undefined for a code that is unknown, was used, or is too old. */
  take(code: string): string | undefined {
    this.#forget();
    const found = this.#offered.get(code);
    this.#offered.delete(code);
    return found?.token;
  }

  #forget(): void {
    const now = this.#now();
    for (const [code, { expiresAt }] of this.#offered) {
      if (expiresAt <= now) this.#offered.delete(code);
    }
  }
}
