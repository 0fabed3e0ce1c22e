import { randomFillSync } from 'node:crypto';
import { ulid } from 'ulid';
import { invalid } from '../../base/errors.ts';
import { checkString, shown } from '../../base/text.ts';
import { ID_CHARS_MAX } from './limits.ts';

const FOLDER = 'chats/';
const SESSION = `${FOLDER}session-`;
const META_END = '.meta.json';

/** Documents that keep blobs alive on their way into a chat. */
export const HELD_FOLDER = 'chats-held/';
/** The prefix of the documents of chats. No other document has this prefix and their ending. */
export const META_PREFIX: string = SESSION;

export function eventsLog(id: string): string {
  return `${SESSION}${id}.events.ndjson`;
}

export function metaDoc(id: string): string {
  return `${SESSION}${id}${META_END}`;
}

/** The log that names the stored folds of the chat. */
export function segmentsLog(id: string): string {
  return `chats-cache/session-${id}.ndjson`;
}

/** Returns undefined when the document is not the metadata of a chat. */
export function chatOfMeta(name: string): string | undefined {
  if (!name.startsWith(SESSION) || !name.endsWith(META_END)) return undefined;
  return name.slice(SESSION.length, -META_END.length);
}

export function chatOfEvents(name: string): string | undefined {
  const [, id] = /^chats\/session-(.+)\.events\.ndjson$/.exec(name) ?? [];
  return id;
}

/** The id has no hyphens. Ids sort by time. */
export function newId(nowMs: number): string {
  return newEventId(nowMs).toLowerCase();
}

export function newEventId(nowMs: number): string {
  return ulid(nowMs, random);
}

const pool = Buffer.alloc(4096);
let left = 0;

/** Returns a number from 0 to below 1. Asking the system for each byte takes half of the time of an append. */
function random(): number {
  if (left === 0) {
    randomFillSync(pool);
    left = pool.length;
  }
  left -= 1;
  return (pool[left] ?? 0) / 256;
}

/** Checks ids of chats, messages, branches and batches of questions, as they are written. */
export function checkId(id: unknown, what: string): string {
  const text = checkString(id, what);
  if (text.length <= ID_CHARS_MAX && /^[A-Za-z0-9_]+$/.test(text)) return text;
  throw invalid(
    what,
    `must have 1 to ${ID_CHARS_MAX} letters, digits and "_", and no hyphens, got ${shown(id)}`,
  );
}
