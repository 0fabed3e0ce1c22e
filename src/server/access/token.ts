import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Scope } from './access.ts';

// A token is 32 random bytes behind a word that identifies it as a token when it turns up in a log or a diff. Only its
// SHA-256 is kept. A slow hash protects secrets that can be guessed. Nobody guesses 256 random bits, and every request
// pays for the hash.

const PREFIX = 'quipu_';
const SECRET_BYTES = 32;
/** Enough to tell tokens apart in a list, and no help in guessing the other 39 characters. */
const ENDS_CHARS = 4;
/** A longer text is not our token; hashing it would only cost time. */
const TOKEN_CHARS_MAX = 256;

/** Matches a token, or most of one, anywhere in a text. */
const TOKEN_IN_TEXT = new RegExp(`${PREFIX}[\\w-]{32,}`, 'g');

/** The part of a token that is kept. */
export interface TokenRecord {
  /** The name that people and logs use. Unique in its file. */
  readonly name: string;
  readonly scope: Scope;
  /** 64 hex digits. */
  readonly sha256: string;
  /** The last characters, for people who wonder which token they hold. */
  readonly ends: string;
  /** Unix time in milliseconds. */
  readonly createdAt: number;
  readonly expiresAt?: number;
}

/** A new secret. The secret is shown once and cannot be recovered. */
export function mintToken(): string {
  return PREFIX + randomBytes(SECRET_BYTES).toString('base64url');
}

/** The text without tokens that somebody put where they do not belong, such as in a path. */
export function hideTokens(text: string): string {
  return text.replaceAll(TOKEN_IN_TEXT, `${PREFIX}…`);
}

export function toTokenRecord(
  token: string,
  said: Pick<TokenRecord, 'name' | 'scope' | 'createdAt' | 'expiresAt'>,
): TokenRecord {
  return { ...said, sha256: digest(token).toString('hex'), ends: token.slice(-ENDS_CHARS) };
}

/** The record of a token, whether or not it has expired. A near miss takes as long as a far one. */
export function findToken(records: readonly TokenRecord[], token: string): TokenRecord | undefined {
  if (token.length > TOKEN_CHARS_MAX) return undefined;
  const presented = digest(token);
  let found: TokenRecord | undefined;
  for (const record of records) {
    if (timingSafeEqual(presented, Buffer.from(record.sha256, 'hex'))) found = record;
  }
  return found;
}

export function hasExpired(record: Pick<TokenRecord, 'expiresAt'>, nowMs: number): boolean {
  return record.expiresAt !== undefined && record.expiresAt <= nowMs;
}

function digest(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
