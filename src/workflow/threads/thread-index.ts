import type { Hash } from '../../base/brand.ts';
import { kindOf } from '../../base/check-text.ts';
import { QuipuError } from '../../base/errors.ts';
import { isThreadId } from './thread-id.ts';
import type { ThreadId } from './thread-id.ts';

/** A thread that is under way. Until the first step its head is the start. */
export interface ThreadEntry {
  readonly head: Hash;
  readonly start: Hash;
  readonly updatedAt: number;
}

/** `threads.json`: the threads of a bundle that are under way, and no others. */
export type ThreadIndex = ReadonlyMap<ThreadId, ThreadEntry>;

/** A line of `history/<day>.jsonl`. */
export interface HistoryLine {
  readonly threadId: ThreadId;
  readonly head: Hash;
  readonly start: Hash;
  readonly completedAt: number;
}

const HASH = /^[0-9a-f]{64}$/;

/** Throws CORRUPT with the name of the document: nonsense is never taken for an empty index. */
export function parseIndex(name: string, content: string): ThreadIndex {
  const value = parseObject(name, content);
  const index = new Map<ThreadId, ThreadEntry>();
  for (const [id, entry] of Object.entries(value)) {
    if (!isThreadId(id)) throw unreadable(name, `${JSON.stringify(id)} is no thread id`);
    if (!isEntry(entry))
      throw unreadable(name, `the entry of ${id} is not {head, start, updatedAt}`);
    index.set(id, entry);
  }
  return index;
}

export function formatIndex(index: ThreadIndex): string {
  return `${JSON.stringify(Object.fromEntries(index), undefined, 2)}\n`;
}

export function parseHistoryLine(name: string, text: string): HistoryLine {
  const line = parseObject(name, text);
  const { threadId, head, start, completedAt } = line;
  if (isThreadId(threadId) && isHash(head) && isHash(start) && isTime(completedAt)) {
    return { threadId, head, start, completedAt };
  }
  throw unreadable(
    name,
    `a line is not {threadId, head, start, completedAt}: ${text.slice(0, 200)}`,
  );
}

function isEntry(value: unknown): value is ThreadEntry {
  if (kindOf(value) !== 'object') return false;
  const { head, start, updatedAt, ...rest } = value as Record<string, unknown>;
  return isHash(head) && isHash(start) && isTime(updatedAt) && Object.keys(rest).length === 0;
}

export function isHash(value: unknown): value is Hash {
  return typeof value === 'string' && HASH.test(value);
}

function isTime(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

export function parseObject(name: string, content: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch (error) {
    throw unreadable(name, 'it is not JSON', error);
  }
  if (kindOf(value) === 'object') return value as Record<string, unknown>;
  throw unreadable(name, `it is ${kindOf(value)} and not an object`);
}

export function unreadable(name: string, problem: string, cause?: unknown): QuipuError<'CORRUPT'> {
  const message =
    `${name} cannot be read: ${problem}. Nothing was changed; put back a copy from a backup, ` +
    'or correct the document by hand';
  return new QuipuError('CORRUPT', message, { file: name, offset: 0 }, { cause });
}
