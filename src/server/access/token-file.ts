import { open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { QuipuError, invalid, notFound, locked } from '../../base/errors.ts';
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Scope } from './access.ts';

// The file that lists the valid tokens. The file lies in the store's folder and is no part of the store. A backup
// leaves it out, because a copy that travels must not admit everyone who was admitted here.
// Invariants
// - The file is replaced as a whole: a reader sees the list before or the list after.
// - `<file>.new` is made by one process only, which makes it the lock of a change.

/** The name of the token file in a store's folder; the engine keeps logs and documents away from it. */
const TOKEN_FILE = 'tokens.json';
const MODE = 0o600;
const WAIT_MS = 2000;
const POLL_MS = 20;

export function tokenFileOf(store: string): string {
  return join(store, TOKEN_FILE);
}

/** A stamp that tells one content of the file from another without reading it. */
export async function stampOfTokenFile(path: string): Promise<string> {
  try {
    const { ino, size, mtimeNs } = await stat(path, { bigint: true });
    return `${ino} ${size} ${mtimeNs}`;
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return 'missing';
    throw toIoError(error, path);
  }
}

/** Reads the tokens; a missing file has none. INVALID when the file is damaged, or when others may write to it. */
export async function readTokenFile(path: string): Promise<readonly TokenRecord[]> {
  let text: string;
  try {
    const { mode, size } = await stat(path);
    if (process.platform !== 'win32' && (mode & 0o022) !== 0) {
      throw invalid('token file', `${path} can be written by others; run: chmod 600 ${path}`);
    }
    if (size > TOKEN_FILE_BYTES_MAX) {
      throw invalid('token file', `${path} has more than ${TOKEN_FILE_BYTES_MAX} bytes`);
    }
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return [];
    throw toIoError(error, path);
  }
  return decodeTokenList(text);
}

/** Replaces the list by the result of `change`. Durable when this resolves; nothing happens when this throws. */
export async function changeTokenFile(
  path: string,
  change: (records: readonly TokenRecord[]) => readonly TokenRecord[],
): Promise<void> {
  const aside = `${path}.new`;
  const file = await openAlone(aside);
  try {
    try {
      const records = change(await readTokenFile(path));
      if (records.length > TOKENS_MAX) {
        throw invalid('token', `is one too many: a file holds ${TOKENS_MAX}; revoke some first`);
      }
      await file.writeFile(encodeTokenList(records));
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(aside, path);
  } catch (error) {
    await rm(aside, { force: true });
    throw toIoError(error, path);
  }
  await syncFolder(dirname(path));
}

/** Changes are short, so a change by another process is over in a moment. */
async function openAlone(aside: string): Promise<Awaited<ReturnType<typeof open>>> {
  const giveUpAt = Date.now() + WAIT_MS;
  for (;;) {
    try {
      return await open(aside, 'wx', MODE);
    } catch (error) {
      if (!isErrno(error, 'EEXIST')) throw toIoError(error, aside);
    }
    if (Date.now() >= giveUpAt) {
      throw locked(
        'token file',
        'another process',
        `someone else is changing the tokens; if no other "quipu token" runs, one was killed: remove ${aside}`,
      );
    }
    await sleep(POLL_MS);
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function isErrno(error: unknown, code: string): boolean {
  return (error as NodeJS.ErrnoException | undefined)?.code === code;
}

function toIoError(error: unknown, path: string): Error {
  const errno = (error as NodeJS.ErrnoException | undefined)?.code;
  if (error instanceof QuipuError || errno === undefined) return error as Error;
  if (errno === 'ENOENT') {
    return notFound('folder', dirname(path), `there is no folder for ${path}`);
  }
  const message = `cannot use the token file ${path}: ${errno}`;
  return new QuipuError('IO', message, { path, errno }, { cause: error });
}

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
