import { ulid } from 'ulid';
import { invalid } from '../../base/errors.ts';

declare const brand: unique symbol;
/** A ULID: 26 characters that sort by the time the thread was made. */
export type ThreadId = string & { readonly [brand]: 'ThreadId' };

const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

export function isThreadId(text: unknown): text is ThreadId {
  return typeof text === 'string' && ULID.test(text);
}

/** The only way from text to `ThreadId`. */
export function toThreadId(text: string): ThreadId {
  if (isThreadId(text)) return text;
  throw invalid('thread id', `is a ULID of 26 characters, got ${JSON.stringify(text)}`);
}

export function newThreadId(nowMs: number): ThreadId {
  return toThreadId(ulid(nowMs));
}
