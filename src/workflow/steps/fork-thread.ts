import type { Hash } from '../../base/brand.ts';
import { invalid, notFound, type QuipuError } from '../../base/errors.ts';
import type { Engine } from '../../engine/engine.ts';
import { isHash } from '../home/documents.ts';
import { END_ROLE, readState } from '../home/nodes.ts';
import { newThreadId, type ThreadId, type WorkflowsHome } from '../home/workflows-home.ts';
import { addThread } from '../threads/change-thread.ts';
import { findThread, toThread, type Found } from '../threads/thread-docs.ts';
import type { ForkOptions, Thread } from '../threads/workflows.ts';
import { hopSteps, walkSteps } from './walk-steps.ts';

type Place = NonNullable<ForkOptions['at']>;

/** Makes a thread that goes on from a step of this one. */
export async function forkThread(
  home: WorkflowsHome,
  from: ThreadId,
  at: Place | undefined,
): Promise<Thread> {
  const found = await findThread(home.engine, from);
  const { head, start, compact } = await forkPoint(home.engine, from, found, at);
  const now = home.clock();
  const fork = newThreadId(now);
  const { bundle } = found.note.value;
  const entry = { head, start, updatedAt: now };
  const note = { bundle, ...(compact !== undefined && { compact }) };
  await addThread(home, fork, { note, entry });
  return { id: fork, bundle, state: 'active', ...entry };
}

interface ForkPoint {
  readonly head: Hash;
  readonly start: Hash;
  /** The newest summary at or before the fork point, when that is known without reading further back. */
  readonly compact: Hash | undefined;
}

/** Finds the beginning of a fork of this thread. Throws NOT_FOUND with a step that is not one of the thread's. */
async function forkPoint(
  engine: Engine,
  id: ThreadId,
  found: Found,
  at: Place | undefined,
): Promise<ForkPoint> {
  const { head, start, state } = toThread(id, found);
  const { compact } = found.note.value;
  const isEnd = state === 'completed' && (at === head || at === END_ROLE);
  const wanted = at === undefined || isEnd ? undefined : checkPlace(at);
  if (head === start || at === start) {
    if (at === undefined || at === start) return { head: start, start, compact: undefined };
    throw noStep(id, at);
  }
  // Nothing comes after an end, so a fork there goes on from the step before it.
  const newest = state === 'completed' ? (await readState(engine, head)).refs[1] : head;
  if (wanted === undefined) return { head: newest ?? start, start, compact };
  const step = newest === null ? undefined : await findStep(engine, newest, wanted);
  if (step === undefined) throw noStep(id, wanted);
  // So far only the state's name was seen.
  await readState(engine, step.hash);
  const known = step.passed.includes(compact as Hash) ? undefined : compact;
  return { head: step.hash, start, compact: known };
}

function checkPlace(at: Place): Place {
  if (typeof at === 'number') {
    if (Number.isSafeInteger(at)) return at;
    throw invalid('at', `must be a whole number, got ${at}`);
  }
  if (typeof at === 'string' && at !== '') return at;
  throw invalid('at', 'must be the hash of a step, a role, or a number');
}

interface FoundStep {
  readonly hash: Hash;
  /** The states after the step, newest first. */
  readonly passed: readonly Hash[];
}

/** Finds a hash or a number by the names of states alone. A number from the beginning takes all of them. */
async function findStep(engine: Engine, head: Hash, at: Place): Promise<FoundStep | undefined> {
  if (typeof at === 'string' && !isHash(at)) return findRole(engine, head, at);
  const names: Hash[] = [];
  for await (const more of hopSteps(engine, head)) {
    names.push(...more);
    if (typeof at === 'string' ? more.includes(at) : at < 0 && names.length >= -at) break;
  }
  let place: number;
  if (typeof at === 'string') place = names.indexOf(at);
  else place = at < 0 ? -at - 1 : names.length - 1 - at;
  const hash = names[place];
  return hash && { hash, passed: names.slice(0, place) };
}

/** Names do not tell roles. So this reads every state up to the wanted one, eleven side by side. */
async function findRole(engine: Engine, head: Hash, role: string): Promise<FoundStep | undefined> {
  const passed: Hash[] = [];
  for await (const round of walkSteps(engine, head)) {
    for (const { hash, node } of round) {
      if (node.payload.role === role) return { hash, passed };
      passed.push(hash);
    }
  }
  return undefined;
}

function noStep(id: ThreadId, at: Place): QuipuError<'NOT_FOUND'> {
  return notFound('step', String(at), `thread ${id} has no step ${at} to fork from`);
}
