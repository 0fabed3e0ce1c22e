import { invalid } from '../../base/errors.ts';
import type { Scope } from './access.ts';
import type { TokenRecord } from './token.ts';

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
