import type { Hash } from '../../base/brand.ts';
import { notFound } from '../../base/errors.ts';
import { isFields } from '../../base/fields.ts';
import type { Engine } from '../../engine/engine.ts';
import { indexDoc, isHash, noteDoc, parseObject, unreadable } from '../home/documents.ts';
import { isThreadId, type ThreadId } from '../home/workflows-home.ts';
import type { Thread, ThreadEntry } from './workflows.ts';

/** `threads.json`: the threads of a bundle that are under way, and no others. */
export type ThreadIndex = ReadonlyMap<ThreadId, ThreadEntry>;

/** A line of `history/<day>.jsonl`. */
export interface HistoryLine extends Pick<ThreadEntry, 'head' | 'start'> {
  readonly threadId: ThreadId;
  readonly completedAt: number;
}

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
  const problem = `a line is not {threadId, head, start, completedAt}: ${text.slice(0, 200)}`;
  throw unreadable(name, problem);
}

function isEntry(value: unknown): value is ThreadEntry {
  if (!isFields(value)) return false;
  const { head, start, updatedAt, ...rest } = value;
  return isHash(head) && isHash(start) && isTime(updatedAt) && Object.keys(rest).length === 0;
}

function isTime(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/**
 * The note finds a thread by its id alone, and holds the facts about it that are not steps. Transitions that change the
 * note write it; a plain step never does.
 */
export interface ThreadNote {
  readonly bundle: Hash;
  /** The newest state with a summary: context assembly reads nothing before it. */
  readonly compact?: Hash;
  /** The child that was called when the thread's head was `at`: a run that goes on there calls no other. */
  readonly child?: { readonly at: Hash; readonly thread: ThreadId };
  /** Nobody may run the thread until it is resumed. */
  readonly paused?: true;
  /** The thread has ended. These fields repeat its line in the history. */
  readonly completedAt?: number;
  readonly head?: Hash;
  readonly start?: Hash;
}

export function parseNote(name: string, content: string): ThreadNote {
  const { bundle, compact, paused, completedAt, head, start, child } = parseObject(name, content);
  if (!isHash(bundle)) throw unreadable(name, 'it names no bundle');
  for (const hash of [compact, head, start]) {
    if (hash !== undefined && !isHash(hash)) throw unreadable(name, 'a hash in it is none');
  }
  const isEnd = isHash(head) && isHash(start) && Number.isSafeInteger(completedAt);
  if (completedAt !== undefined && !isEnd) {
    throw unreadable(name, 'it ended, and does not say when or with which hashes');
  }
  return {
    bundle,
    ...(isHash(compact) && { compact }),
    ...(isChild(child) && { child }),
    ...(paused === true && { paused }),
    ...(typeof completedAt === 'number' && { completedAt }),
    ...(isHash(head) && { head }),
    ...(isHash(start) && { start }),
  };
}

function isChild(value: unknown): value is NonNullable<ThreadNote['child']> {
  return isFields(value) && isHash(value['at']) && isThreadId(value['thread']);
}

/** A document as it was read, for a change that holds only if nobody came first. */
export interface Versioned<T> {
  readonly value: T;
  readonly version: number;
}

export async function readIndex(engine: Engine, bundle: Hash): Promise<Versioned<ThreadIndex>> {
  const name = indexDoc(bundle);
  const doc = await engine.getDoc(name);
  if (doc === undefined) return { value: new Map(), version: 0 };
  return { value: parseIndex(name, doc.content), version: doc.version };
}

export async function readNote(engine: Engine, id: ThreadId): Promise<Versioned<ThreadNote>> {
  const name = noteDoc(id);
  const doc = await engine.getDoc(name);
  if (doc === undefined) throw notFound('thread', id, `there is no workflow thread ${id}`);
  return { value: parseNote(name, doc.content), version: doc.version };
}

/** The place of a thread: with its entry while it is under way, without when it has ended. */
export interface Found {
  readonly note: Versioned<ThreadNote>;
  readonly index: Versioned<ThreadIndex>;
  readonly entry: ThreadEntry | undefined;
}

export async function findThread(engine: Engine, id: ThreadId): Promise<Found> {
  const note = await readNote(engine, id);
  const index = await readIndex(engine, note.value.bundle);
  const entry = index.value.get(id);
  if ((entry === undefined) === (note.value.completedAt !== undefined))
    return { note, index, entry };
  // The thread may have ended, or gone, between the two reads.
  const again = await readNote(engine, id);
  if (again.version !== note.version) return findThread(engine, id);
  const state =
    entry === undefined ? 'lacks a thread that has not ended' : 'has a thread that ended';
  throw unreadable(indexDoc(note.value.bundle), `it ${state}: ${id}`);
}

export async function readThread(engine: Engine, id: ThreadId): Promise<Thread> {
  return toThread(id, await findThread(engine, id));
}

export function toThread(id: ThreadId, { note: { value: note }, entry }: Found): Thread {
  const { bundle } = note;
  if (entry !== undefined) {
    return { id, bundle, state: note.paused === true ? 'paused' : 'active', ...entry };
  }
  const { head, start, completedAt } = note;
  if (head === undefined || start === undefined || completedAt === undefined) {
    throw unreadable(noteDoc(id), 'the thread has ended and the note does not say how');
  }
  return { id, bundle, state: 'completed', head, start, updatedAt: completedAt };
}
