import type { Hash } from '../../base/brand.ts';
import { invalid, notFound, type QuipuError } from '../../base/errors.ts';
import type { Engine } from '../../engine/engine.ts';
import { isHash } from '../home/documents.ts';
import {
  newThreadId,
  toThreadId,
  type WorkflowsHome,
  type ThreadId,
} from '../home/workflows-home.ts';
import { readState } from '../nodes/node-reader.ts';
import { END_ROLE } from '../nodes/nodes.ts';
import { addThread, changeThread, planRemoval } from '../threads/change-thread.ts';
import { findThread, readThread, toThread, type Found } from '../threads/thread-docs.ts';
import type { Workflows } from '../threads/workflows.ts';
import { hopSteps, walkSteps } from './walk-steps.ts';
import { setPaused } from './write-steps.ts';

type ThreadVerbs = Pick<Workflows, 'fork' | 'remove' | 'pause'>;

export function threadVerbs(home: WorkflowsHome): ThreadVerbs {
  const { engine, clock } = home;
  return {
    async fork(id, options = {}) {
      const from = toThreadId(id);
      const found = await findThread(engine, from);
      const { head, start, compact } = await forkPoint(engine, from, found, options.at);
      const now = clock();
      const fork = newThreadId(now);
      const { bundle } = found.note.value;
      const entry = { head, start, updatedAt: now };
      const note = { bundle, ...(compact !== undefined && { compact }) };
      await addThread(home, fork, { note, entry });
      return { id: fork, bundle, state: 'active', ...entry };
    },

    async remove(id) {
      const thread = toThreadId(id);
      await changeThread(home, thread, (found) => planRemoval(engine, thread, found));
    },

    async pause(id) {
      const thread = toThreadId(id);
      await setPaused(home, thread, true);
      return readThread(engine, thread);
    },
  };
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
  at: string | number | undefined,
): Promise<ForkPoint> {
  const { head, start, state } = toThread(id, found);
  const { compact } = found.note.value;
  const isEnd = state === 'completed' && (at === head || at === END_ROLE);
  const finder = at === undefined || isEnd ? undefined : toFinder(at);
  if (head === start || at === start) {
    if (at === undefined || at === start) return { head: start, start, compact: undefined };
    throw noStep(id, at);
  }
  // Nothing comes after an end, so a fork there goes on from the step before it.
  const newest = state === 'completed' ? (await readState(engine, head)).refs[1] : head;
  if (at === undefined || finder === undefined) return { head: newest ?? start, start, compact };
  const step = newest === null ? undefined : await finder(engine, newest);
  if (step === undefined) throw noStep(id, at);
  // So far only the state's name was seen.
  await readState(engine, step.hash);
  const known = step.passed.includes(compact as Hash) ? undefined : compact;
  return { head: step.hash, start, compact: known };
}

interface FoundStep {
  readonly hash: Hash;
  /** The states after the step, newest first. */
  readonly passed: readonly Hash[];
}

type Finder = (engine: Engine, head: Hash) => Promise<FoundStep | undefined>;

function toFinder(at: string | number): Finder {
  if (typeof at === 'number') {
    if (!Number.isSafeInteger(at)) throw invalid('at', `must be a whole number, got ${at}`);
    return at < 0 ? fromTheEnd(-at - 1) : fromTheBeginning(at);
  }
  if (typeof at !== 'string' || at === '') {
    throw invalid('at', 'must be the hash of a step, a role, or a number');
  }
  return isHash(at) ? byHash(at) : byRole(at);
}

function byHash(hash: Hash): Finder {
  return async (engine, head) => {
    const passed: Hash[] = [];
    for await (const names of hopSteps(engine, head)) {
      const place = names.indexOf(hash);
      if (place !== -1) return { hash, passed: [...passed, ...names.slice(0, place)] };
      passed.push(...names);
    }
    return undefined;
  };
}

/** The number of steps after the wanted one is known. */
function fromTheEnd(after: number): Finder {
  return async (engine, head) => {
    const passed: Hash[] = [];
    for await (const names of hopSteps(engine, head)) {
      passed.push(...names);
      if (passed.length > after) break;
    }
    return stepIn(passed, after);
  };
}

/** A number from the beginning is known once the beginning is known. */
function fromTheBeginning(before: number): Finder {
  return async (engine, head) => {
    const all: Hash[] = [];
    for await (const names of hopSteps(engine, head)) all.push(...names);
    return stepIn(all, all.length - 1 - before);
  };
}

function stepIn(newestFirst: readonly Hash[], place: number): FoundStep | undefined {
  const hash = newestFirst[place];
  return hash && { hash, passed: newestFirst.slice(0, place) };
}

/** Names do not tell roles. So this reads every state up to the wanted one, eleven side by side. */
function byRole(role: string): Finder {
  return async (engine, head) => {
    const passed: Hash[] = [];
    for await (const round of walkSteps(engine, head)) {
      for (const { hash, node } of round) {
        if (node.payload.role === role) return { hash, passed };
        passed.push(hash);
      }
    }
    return undefined;
  };
}

function noStep(id: ThreadId, at: string | number): QuipuError<'NOT_FOUND'> {
  return notFound('step', String(at), `thread ${id} has no step ${at} to fork from`);
}
