import type { Hash } from '../../base/brand.ts';
import { isThreadId } from './thread-id.ts';
import type { ThreadId } from './thread-id.ts';
import { isHash, parseObject, unreadable } from './thread-index.ts';

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
  if (
    completedAt !== undefined &&
    !(isHash(head) && isHash(start) && Number.isSafeInteger(completedAt))
  ) {
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
  if (typeof value !== 'object' || value === null) return false;
  const { at, thread } = value as Record<string, unknown>;
  return isHash(at) && isThreadId(thread);
}

export function formatNote(note: ThreadNote): string {
  return JSON.stringify(note);
}
