import type { Hash } from '../../base/brand.ts';
import { QuipuError, invalid } from '../../base/errors.ts';
import type { BlobPut } from '../../engine/batch.ts';
import {
  toThreadId,
  type JsonObject,
  type ThreadId,
  type WorkflowsHome,
} from '../home/workflows-home.ts';
import { readState, readStart, END_ROLE, COMPACT_ROLE, type StateAt } from '../home/nodes.ts';
import { changeThread, headMoved, type Transition } from '../threads/change-thread.ts';
import type { Found } from '../threads/thread-docs.ts';
import type { Step } from '../threads/workflows.ts';
import { planStep, toStep, walkSteps, type PlannedStep, type StepDraft } from './walk-steps.ts';

export interface StepRequest {
  readonly draft: StepDraft;
  /** Blobs that are stored with the step. */
  readonly puts: readonly BlobPut[];
  readonly expectedHead: Hash | undefined;
  readonly info?: readonly string[];
  /** True for a step that must be within the rounds of its thread. */
  readonly isRound?: boolean;
}

/** Appends a state to a thread that is under way. `also` returns the other changes of the commit. */
export async function writeStep(
  home: WorkflowsHome,
  id: ThreadId,
  { draft, puts, expectedHead, info = [], isRound = false }: StepRequest,
  also: (state: StateAt, found: Found) => Partial<Transition> = () => ({}),
): Promise<Step> {
  let planned: PlannedStep | undefined;
  let rounds: number | undefined;
  await changeThread(home, id, async (found) => {
    const { entry } = found;
    // The state was planned before and is there: the commit whose answer was lost did happen.
    const head = entry?.head ?? found.note.value.head;
    if (planned !== undefined && head === planned.state.hash) return undefined;
    if (entry === undefined) throw hasEnded(id, head);
    if (expectedHead !== undefined && expectedHead !== entry.head) {
      throw headMoved(id, expectedHead, entry.head);
    }
    if (isRound) rounds = await assertRoundsLeft(home, entry);
    planned = planStep(entry.start, await readParent(home, entry), draft);
    const { state } = planned;
    const { timestamp } = draft.payload;
    return {
      puts: [...puts, ...planned.puts],
      entry: { head: state.hash, start: entry.start, updatedAt: timestamp },
      info,
      ...also(state, found),
    };
  });
  if (planned === undefined) throw new TypeError(`nothing was planned for thread ${id}`);
  if (rounds !== undefined) home.rounds.set(planned.state.hash, rounds + 1);
  return toStep(planned.state, { payload: draft.content, refs: draft.artifacts });
}

async function readParent(
  { engine }: WorkflowsHome,
  { head, start }: { readonly head: Hash; readonly start: Hash },
): Promise<StateAt | undefined> {
  return head === start ? undefined : { hash: head, node: await readState(engine, head) };
}

/** `head` is the end, where the thread has moved to and where it stays. */
export function hasEnded(id: ThreadId, head: Hash | undefined): QuipuError<'HEAD_MOVED'> {
  const message = `thread ${id} has ended; fork it to go on from one of its steps`;
  return new QuipuError('HEAD_MOVED', message, {
    context: id,
    expected: 'no end',
    head: head ?? '',
  });
}

interface Ending {
  readonly meta: JsonObject;
  readonly content: string;
  readonly artifacts: readonly Hash[];
  readonly expectedHead: Hash | undefined;
  readonly info?: readonly string[];
}

/** Writes the end node and the line in the history, and removes the entry, in one commit. */
export function writeEnd(
  home: WorkflowsHome,
  id: string,
  { meta, content, artifacts, expectedHead, info = [] }: Ending,
): Promise<Step> {
  const threadId = toThreadId(id);
  const completedAt = home.clock();
  const payload = { role: END_ROLE, meta, timestamp: completedAt };
  const draft = { payload, content, artifacts };
  const request = { draft, puts: [], expectedHead, info };
  return writeStep(home, threadId, request, (state, { note }) => {
    const line = { threadId, head: state.hash, start: state.node.refs[0], completedAt };
    const { head, start } = line;
    const { bundle, compact } = note.value;
    const ended = { bundle, ...(compact !== undefined && { compact }), completedAt, head, start };
    return { entry: undefined, history: line, note: ended };
  });
}

export async function setPaused(
  home: WorkflowsHome,
  thread: ThreadId,
  paused: boolean,
): Promise<void> {
  await changeThread(home, thread, async ({ entry, note }) => {
    if (entry === undefined) throw hasEnded(thread, note.value.head);
    const { paused: before, ...rest } = note.value;
    if ((before === true) === paused) return undefined;
    return { entry, note: { ...rest, ...(paused && { paused: true as const }) } };
  });
}

// The rounds of a thread: its steps but for summaries made by hand. No node has their number, so they are counted along
// the chain once, and from then on this process knows the number at each head it has seen or made.

/** Throws INVALID when a thread with this head has used all its rounds. Returns the number it has used. */
async function assertRoundsLeft(
  home: WorkflowsHome,
  { head, start }: { readonly head: Hash; readonly start: Hash },
): Promise<number> {
  const { maxRounds } = (await readStart(home.engine, start)).payload;
  const used = head === start ? 0 : (home.rounds.get(head) ?? (await countRounds(home, head)));
  if (used >= maxRounds) {
    const todo = 'end the thread, or start one with a larger maxRounds';
    throw invalid('step', `would be one more than the ${maxRounds} rounds of the thread; ${todo}`);
  }
  return used;
}

async function countRounds({ engine }: WorkflowsHome, head: Hash): Promise<number> {
  let rounds = 0;
  for await (const states of walkSteps(engine, head)) {
    rounds += states.filter(({ node }) => node.payload.role !== COMPACT_ROLE).length;
  }
  return rounds;
}
