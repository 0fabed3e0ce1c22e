import { toHash, type Hash } from '../../base/brand.ts';
import { isQuipuError, notFound } from '../../base/errors.ts';
import { ChangeBell } from '../../engine/change-bell.ts';
import { indexDoc, noteDoc } from '../home/documents.ts';
import type { ThreadId, WorkflowsHome } from '../home/workflows-home.ts';
import { readState } from '../nodes/node-reader.ts';
import { END_ROLE } from '../nodes/nodes.ts';
import { readThread } from '../threads/thread-docs.ts';
import type { Step, Thread } from '../threads/workflows.ts';
import { readSteps, walkSteps } from './walk-steps.ts';

/** The number of contents read at a time, as long as they are small. */
const STEPS_AT_ONCE = 32;
/** The contents that a slow reader holds, unless a single one takes more. */
const HELD_BYTES = 65_536;
const HASH_CHARS = 64;

export interface LivePlan {
  readonly id: ThreadId;
  readonly after: string | undefined;
  readonly signal: AbortSignal | undefined;
}

/**
 * Reads instead of queueing: a commit only rings, and the steps since the last one told are read when the reader asks
 * again. So a slow reader costs a hash, and a reader that comes back is like one that was slow.
 */
export async function* liveSteps(
  home: WorkflowsHome,
  { id, after, signal }: LivePlan,
): AsyncGenerator<Step, void, undefined> {
  const { engine, lifetime } = home;
  const names = new Set([noteDoc(id)]);
  using bell = new ChangeBell(home, {
    signal,
    hear: ({ docs, removedDocs }) =>
      docs.some(({ name }) => names.has(name)) || removedDocs.some((name) => names.has(name)),
  });
  try {
    let thread = await readThread(engine, id);
    names.add(indexDoc(thread.bundle));
    let last = after === undefined ? thread.start : toHash(after, 'after');
    while (!bell.isOver) {
      thread = await readThread(engine, id);
      for await (const step of stepsBetween(engine, thread, last)) {
        if (bell.isOver) return;
        last = step.hash;
        yield step;
        if (step.role === END_ROLE) return;
      }
      if (thread.state === 'completed') return;
      await bell.wait();
    }
  } catch (error) {
    const gone = isQuipuError(error, 'NOT_FOUND') && error.data.what === 'thread' && names.size > 1;
    if (!gone && !(lifetime.closed && isQuipuError(error, 'CLOSED'))) throw error;
  }
}

type Engine = WorkflowsHome['engine'];

/** Yields the steps after `last` up to the head, oldest first. */
async function* stepsBetween(
  engine: Engine,
  { id, head, start }: Thread,
  last: Hash,
): AsyncGenerator<Step, void, undefined> {
  const hashes = await hashesBetween(engine, { id, head, start }, last);
  let count = 1;
  for (let at = 0; at < hashes.length;) {
    const states = await Promise.all(
      hashes
        .slice(at, at + count)
        .map(async (hash) => ({ hash, node: await readState(engine, hash) })),
    );
    const steps = await readSteps(engine, states);
    const held = keepHeld(steps);
    at += held;
    count = held < steps.length ? held : Math.min(count * 2, STEPS_AT_ONCE);
    yield* steps.splice(0, held);
  }
}

/** Returns how many of the steps may wait for a reader, at least one. */
function keepHeld(steps: readonly Step[]): number {
  let bytes = 0;
  const over = steps.findIndex(({ content = '', refs = [] }) => {
    bytes += content.length + refs.length * HASH_CHARS;
    return bytes > HELD_BYTES;
  });
  return over === -1 ? steps.length : Math.max(1, over);
}

async function hashesBetween(
  engine: Engine,
  { id, head, start }: Pick<Thread, 'id' | 'head' | 'start'>,
  last: Hash,
): Promise<readonly Hash[]> {
  if (head === last) return [];
  const hashes: Hash[] = [];
  if (head !== start) {
    for await (const round of walkSteps(engine, head, { until: last })) {
      for (const { hash } of round) {
        if (hash === last) return hashes.toReversed();
        hashes.push(hash);
      }
    }
  }
  if (last === start) return hashes.toReversed();
  throw notFound('step', last, `thread ${id} has no step ${last} to go on from`);
}
