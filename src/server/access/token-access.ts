import { setMaxListeners } from 'node:events';
import { QuipuError, messageOf } from '../../base/errors.ts';
import type { Access, Identity, Scope } from './access.ts';
import { readTokenFile, stampOfTokenFile, findToken, hasExpired } from './token-file.ts';
import type { TokenRecord } from './token-file.ts';
import { randomBytes } from 'node:crypto';

// Admits the holder of a token that is in the file now.
// Invariants
// - Within `pollMs` of a revocation or an expiry the token is refused, and `ended` of every identity that it gave has
//   aborted.
// - A token that was just created is known at once: a miss reads the file again.
// - A file that cannot be read or understood admits nobody.
// - Once tokens are needed they stay needed: revoking the last one must not open the door. A client that came in
//   without a token before must show one now.

const POLL_MS = 500;

export interface TokenAccessOptions {
  readonly path: string;
  /** True: tokens are needed even while the file has none. False: tokens are needed from the first token on. */
  readonly needed: boolean;
  /** True: the holder of an admin token may also bring programs that others run. Default false. */
  readonly handlers?: boolean;
  readonly pollMs?: number;
  readonly now?: () => number;
  /** Called once for each new problem with the file. */
  readonly onTrouble?: (error: unknown) => void;
}

export class TokenAccess implements Access {
  readonly #options: TokenAccessOptions;
  readonly #now: () => number;
  readonly #timer: NodeJS.Timeout;
  #records: readonly TokenRecord[] = [];
  #needed: boolean;
  #stamp = 'unread';
  #trouble: string | undefined;
  #looking: Promise<void> | undefined;
  /** Identities by hash: a name may be revoked and given to another token. */
  readonly #identities = new Map<string, Admitted>();
  readonly #anyone = admit('anyone', 'admin');

  private constructor(options: TokenAccessOptions) {
    this.#options = options;
    this.#needed = options.needed;
    this.#now = options.now ?? Date.now;
    this.#timer = setInterval(() => void this.#look(), options.pollMs ?? POLL_MS);
    this.#timer.unref();
  }

  /** Throws the problem with the file, so that a server does not start with a door nobody can pass. */
  static async open(options: TokenAccessOptions): Promise<TokenAccess> {
    await readTokenFile(options.path);
    const access = new TokenAccess(options);
    await access.#look();
    return access;
  }

  get tokensNeeded(): boolean {
    return this.#needed;
  }

  get tokenCount(): number {
    return this.#records.length;
  }

  async identify(token: string | undefined): Promise<Identity | undefined> {
    if (!this.#needed) await this.#look();
    if (!this.#needed) return this.#anyone.identity;
    if (token === undefined || token === '') return undefined;
    const known = this.#find(token);
    if (known !== undefined) return known;
    await this.#look();
    const found = this.#find(token);
    if (found === undefined && this.#trouble !== undefined) {
      throw new QuipuError('UNAVAILABLE', 'the tokens cannot be read; see the log of the server', {
        what: 'tokens',
      });
    }
    return found;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #find(token: string): Identity | undefined {
    const record = findToken(this.#records, token);
    if (record === undefined || hasExpired(record, this.#now())) return undefined;
    const { name, scope, sha256 } = record;
    let entry = this.#identities.get(sha256);
    if (entry === undefined) {
      entry = admit(name, scope, scope === 'admin' && this.#options.handlers === true);
      this.#identities.set(sha256, entry);
    }
    return entry.identity;
  }

  /** Reads the file again if it has changed. Never rejects. Overlapping calls share one look. */
  #look(): Promise<void> {
    this.#looking ??= this.#lookOnce().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #lookOnce(): Promise<void> {
    try {
      const stamp = await stampOfTokenFile(this.#options.path);
      if (stamp !== this.#stamp) {
        this.#records = await readTokenFile(this.#options.path);
        this.#stamp = stamp;
      }
      this.#trouble = undefined;
    } catch (error) {
      this.#records = [];
      this.#stamp = 'unread';
      this.#needed = true;
      this.#report(error);
    }
    if (this.#records.length > 0) this.#needed = true;
    if (this.#needed) this.#anyone.end.abort();
    this.#endWhatIsOver();
  }

  #report(error: unknown): void {
    const trouble = messageOf(error);
    if (trouble === this.#trouble) return;
    this.#trouble = trouble;
    this.#options.onTrouble?.(error);
  }

  #endWhatIsOver(): void {
    const now = this.#now();
    const good = new Map(
      this.#records.filter((record) => !hasExpired(record, now)).map((r) => [r.sha256, r.scope]),
    );
    for (const [sha256, { identity, end }] of this.#identities) {
      if (good.get(sha256) === identity.scope) continue;
      this.#identities.delete(sha256);
      end.abort();
    }
  }
}

interface Admitted {
  readonly identity: Identity;
  readonly end: AbortController;
}

function admit(name: string, scope: Scope, handlers = false): Admitted {
  const end = new AbortController();
  // Each connection adds a listener, and there may be many connections.
  setMaxListeners(0, end.signal);
  return { identity: { name, scope, handlers, ended: end.signal }, end };
}

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
