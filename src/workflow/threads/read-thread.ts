import type { Hash } from '../../base/brand.ts';
import { notFound, type QuipuError } from '../../base/errors.ts';
import type { Engine } from '../../engine/engine.ts';
import { indexDoc, noteDoc, unreadable } from '../home/documents.ts';
import type { ThreadId } from '../home/workflows-home.ts';
import {
  parseIndex,
  parseNote,
  type ThreadEntry,
  type ThreadIndex,
  type ThreadNote,
} from './thread-docs.ts';
import type { Thread } from './workflows.ts';

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
  if (doc === undefined) throw noThread(id);
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

function noThread(id: ThreadId): QuipuError<'NOT_FOUND'> {
  return notFound('thread', id, `there is no workflow thread ${id}`);
}
