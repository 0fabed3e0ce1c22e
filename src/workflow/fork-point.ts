import type { Hash } from '../base/brand.ts';
import { QuipuError, invalid } from '../base/errors.ts';
import type { Engine } from '../engine/engine.ts';
import { readState } from './node-reader.ts';
import { END_ROLE } from './nodes.ts';
import type { StateAt } from './nodes.ts';
import { toThread } from './read-thread.ts';
import type { Found } from './read-thread.ts';
import type { ThreadId } from './thread-id.ts';
import { isHash } from './thread-index.ts';
import { walkSteps } from './walk-steps.ts';

export interface ForkPoint {
  readonly head: Hash;
  readonly start: Hash;
  /** The newest summary at or before it, when that is known without reading further back. */
  readonly compact: Hash | undefined;
}

/** Where a fork of this thread begins. NOT_FOUND names a step that is not one of the thread's. */
export async function forkPoint(
  engine: Engine,
  id: ThreadId,
  found: Found,
  at: string | number | undefined,
): Promise<ForkPoint> {
  const { head, start, state } = toThread(id, found);
  const { compact } = found.note.value;
  if (head === start || at === start) {
    if (at === undefined || at === start) return { head: start, start, compact: undefined };
    throw noStep(id, at);
  }
  // The end of a thread is no step to go on from.
  const newest = state === 'completed' ? (await readState(engine, head)).refs[1] : head;
  if (at === undefined) return { head: newest ?? start, start, compact };
  if (newest === null) throw noStep(id, at);
  const { state: point, passed } = await findStep(engine, { id, head: newest }, at);
  const known = passed.some(({ hash }) => hash === compact) ? undefined : compact;
  return { head: point.hash, start, compact: known };
}

interface FoundStep {
  readonly state: StateAt;
  /** The states after it. */
  readonly passed: readonly StateAt[];
}

async function findStep(
  engine: Engine,
  { id, head }: { readonly id: ThreadId; readonly head: Hash },
  at: string | number,
): Promise<FoundStep> {
  const passed: StateAt[] = [];
  const isIt = matcher(at);
  for await (const round of walkSteps(engine, head)) {
    for (const state of round) {
      if (isIt?.(state, passed.length) === true) return { state, passed };
      passed.push(state);
    }
  }
  // A number from the beginning is known once the beginning is.
  if (typeof at === 'number' && at >= 0) {
    const place = passed.length - 1 - at;
    const state = passed[place];
    if (state !== undefined) return { state, passed: passed.slice(0, place) };
  }
  throw noStep(id, at);
}

type Matcher = (state: StateAt, stepsAfter: number) => boolean;

function matcher(at: string | number): Matcher | undefined {
  if (typeof at === 'number') {
    if (!Number.isSafeInteger(at)) throw invalid('at', `is a whole number, got ${at}`);
    return at < 0 ? (_, after) => after === -at - 1 : undefined;
  }
  if (typeof at !== 'string' || at === '' || at === END_ROLE) {
    throw invalid('at', 'is the hash of a step, a role, or a number');
  }
  if (isHash(at)) return ({ hash }) => hash === at;
  return ({ node }) => node.payload.role === at;
}

function noStep(id: ThreadId, at: string | number): QuipuError<'NOT_FOUND'> {
  const message = `thread ${id} has no step ${at} to fork from`;
  return new QuipuError('NOT_FOUND', message, { what: 'step', id: String(at) });
}
