import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Scope } from '../access.ts';

// A token is 32 random bytes behind a word that shows what it is when it turns up in a log or a diff.
// Only its SHA-256 is kept. A slow hash guards secrets that can be guessed; nobody guesses 256 random
// bits, and every request pays for the hash.

const PREFIX = 'quipu_';
const SECRET_BYTES = 32;
/** Enough to tell tokens apart in a list, and no help in guessing the other 39 characters. */
const ENDS_CHARS = 4;
/** Longer ones are not ours; hashing them would only cost time. */
const TOKEN_CHARS_MAX = 256;

/** A token, or most of one, wherever it stands. */
const TOKEN_IN_TEXT = new RegExp(`${PREFIX}[\\w-]{32,}`, 'g');

/** What is kept of a token. */
export interface TokenRecord {
  /** Unique in its file: what people call it, and what logs show. */
  readonly name: string;
  readonly scope: Scope;
  /** 64 hex digits. */
  readonly sha256: string;
  /** The last characters, for people who wonder which one they hold. */
  readonly ends: string;
  /** Unix time in milliseconds. */
  readonly createdAt: number;
  readonly expiresAt?: number;
}

/** A new secret. It is shown once and cannot be had again. */
export function mintToken(): string {
  return PREFIX + randomBytes(SECRET_BYTES).toString('base64url');
}

/** The text without the tokens that somebody wrote where they do not belong, such as into a path. */
export function hideTokens(text: string): string {
  return text.replaceAll(TOKEN_IN_TEXT, `${PREFIX}…`);
}

export function toTokenRecord(
  token: string,
  said: Pick<TokenRecord, 'name' | 'scope' | 'createdAt' | 'expiresAt'>,
): TokenRecord {
  return { ...said, sha256: digest(token).toString('hex'), ends: token.slice(-ENDS_CHARS) };
}

/** The record of a token, whether or not it has expired. Takes as long for a near miss as for a far one. */
export function findToken(records: readonly TokenRecord[], token: string): TokenRecord | undefined {
  if (token.length > TOKEN_CHARS_MAX) return undefined;
  const presented = digest(token);
  let found: TokenRecord | undefined;
  for (const record of records) {
    if (timingSafeEqual(presented, Buffer.from(record.sha256, 'hex'))) found = record;
  }
  return found;
}

export function hasExpired(record: TokenRecord, nowMs: number): boolean {
  return record.expiresAt !== undefined && record.expiresAt <= nowMs;
}

function digest(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
