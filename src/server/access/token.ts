import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Scope } from './access.ts';
import { invalid } from '../../base/errors.ts';

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

// The text of a token file: {"version":1,"tokens":[{"name","scope","sha256","ends","createdAt","expiresAt"?}]}

const VERSION = 1;
export const SCOPES: readonly Scope[] = ['read', 'write', 'admin'];
/** A presented token is compared with each token of the file. */
export const TOKENS_MAX = 1000;
export const TOKEN_FILE_BYTES_MAX: number = 1024 * 1024;

export function encodeTokenList(records: readonly TokenRecord[]): string {
  return `${JSON.stringify({ version: VERSION, tokens: records }, undefined, 2)}\n`;
}

/** INVALID for anything that `encodeTokenList` does not write: a list that is half understood lets people in. */
export function decodeTokenList(text: string): readonly TokenRecord[] {
  const list = parse(text);
  if (list['version'] !== VERSION) throw wrong(`is not of version ${VERSION}`);
  const { tokens } = list;
  if (!Array.isArray(tokens) || tokens.length > TOKENS_MAX) {
    throw wrong(`has no list "tokens" of at most ${TOKENS_MAX}`);
  }
  const records = tokens.map((record: unknown, index) => toRecord(record, index));
  if (new Set(records.map(({ name }) => name)).size < records.length) {
    throw wrong('has a name twice');
  }
  return records;
}

function isScope(text: string): text is Scope {
  return (SCOPES as readonly string[]).includes(text);
}

/** Checks a name: it stands in logs and tables, and on command lines without quotes. */
export function isTokenName(text: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$/.test(text);
}

function parse(text: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw wrong('is not JSON');
  }
  if (typeof value !== 'object' || value === null) throw wrong('is not a JSON object');
  return value as Record<string, unknown>;
}

function toRecord(value: unknown, index: number): TokenRecord {
  const at = `tokens[${index}]`;
  if (typeof value !== 'object' || value === null) throw wrong(`has no object at ${at}`);
  const { name, scope, sha256, ends, createdAt, expiresAt } = value as Record<string, unknown>;
  if (typeof name !== 'string' || !isTokenName(name)) throw wrong(`has a bad name at ${at}`);
  if (typeof scope !== 'string' || !isScope(scope)) throw wrong(`has a bad scope at ${at}`);
  if (typeof sha256 !== 'string' || !/^[0-9a-f]{64}$/.test(sha256)) {
    throw wrong(`has a bad sha256 at ${at}`);
  }
  if (typeof ends !== 'string') throw wrong(`has bad ends at ${at}`);
  if (!isTime(createdAt)) throw wrong(`has a bad createdAt at ${at}`);
  if (expiresAt === undefined) return { name, scope, sha256, ends, createdAt };
  if (!isTime(expiresAt)) throw wrong(`has a bad expiresAt at ${at}`);
  return { name, scope, sha256, ends, createdAt, expiresAt };
}

function isTime(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function wrong(problem: string): ReturnType<typeof invalid> {
  return invalid('token file', problem);
}
