import type { Hash } from '../../base/brand.ts';
import { isThreadId } from './thread-id.ts';
import type { ThreadId } from './thread-id.ts';
import { isHash, parseObject, unreadable } from './thread-index.ts';

/**
 * What finds a thread by its id alone, and what is said about it that is no step. It is written with the
 * transitions that change it, never by a plain step.
 */
export interface ThreadNote {
  readonly bundle: Hash;
  /** The newest state with a summary: context assembly reads nothing before it. */
  readonly compact?: Hash;
  /** The child that was called when the thread stood at `at`: a run that goes on there calls no other. */
  readonly child?: { readonly at: Hash; readonly thread: ThreadId };
  /** Nobody is to run it until it is resumed. */
  readonly paused?: true;
  /** It has ended: what its line in the history says. */
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
