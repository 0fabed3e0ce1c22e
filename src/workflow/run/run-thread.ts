import { QuipuError, isQuipuError } from '../../base/errors.ts';
import { assembleContext } from '../assembly/assemble-context.ts';
import { COMPACT_ROLE, END_ROLE } from '../nodes/nodes.ts';
import type { StateAt } from '../nodes/nodes.ts';
import { readState } from '../nodes/node-reader.ts';
import { findThread, readThread, toThread } from '../threads/read-thread.ts';
import { readBundleSource } from '../bundles/registry-doc.ts';
import type { Step, ThreadContext } from '../threads/thread.ts';
import type { ThreadId } from '../threads/thread-id.ts';
import { readSteps } from '../steps/to-step.ts';
import { readStates } from '../steps/walk-steps.ts';
import type { WorkflowWorld } from '../workflow-world.ts';
import { writeEnd } from '../threads/write-end.ts';
import { BundleHost } from './bundle-host.ts';
import { InfoLines } from './info-lines.ts';
import { GeneratorModerator, TableModerator } from './moderator.ts';
import type { Moderator, Move } from './moderator.ts';
import { RunFailure } from './run-failure.ts';
import type { RunResult, ThreadOptions } from './run-result.ts';
import type { Run } from './run.ts';
import { RunWatch } from './run-watch.ts';
import { takeStep } from './take-step.ts';

// Runs a thread from its head to its end, one commit a step. A process that dies in the middle of a role leaves the
// thread as it was before it. The next process begins with that role.

export const ROUNDS_USED_UP = 2;
const FAILED = 1;

/** `loaded` is the thread's bundle, if it is loaded already; it ends with the run. */
export async function runThread(
  world: WorkflowWorld,
  id: ThreadId,
  options: ThreadOptions,
  loaded?: BundleHost,
): Promise<RunResult> {
  const { engine } = world;
  const thread = toThread(id, await findThread(engine, id));
  await using host =
    loaded ?? (await BundleHost.load(await readBundleSource(engine, thread.bundle), world.quickMs));
  if (thread.state !== 'active') return await describeStop(world, id);
  using watch = new RunWatch(world, id, options.signal);
  const run: Run = { world, id, host, watch, info: new InfoLines(world.clock), options, runThread };
  const recorded = await readRecorded(run, thread);
  const moderator = host.hasRun
    ? new GeneratorModerator(host, await readSteps(engine, recorded))
    : new TableModerator(host);
  run.info.add('info', `runs here from step ${recorded.length}`);
  let rounds = recorded.length;
  let [last] = await readSteps(engine, recorded.slice(-1));
  while (!watch.signal.aborted) {
    const context = await readContext(run);
    if (context?.thread.state !== 'active') break;
    const step = await tryMove(run, moderator, { context, last, rounds });
    if (step === undefined) break;
    options.onStep?.(step);
    if (step.role === END_ROLE) break;
    last = step;
    rounds += 1;
  }
  return await describeStop(world, id);
}

interface Situation {
  readonly context: ThreadContext;
  readonly last: Step | undefined;
  readonly rounds: number;
}

/** Makes one step, or the end. Returns undefined when someone else stopped the run meanwhile. */
async function tryMove(run: Run, moderator: Moderator, now: Situation): Promise<Step | undefined> {
  const { context, last, rounds } = now;
  const { head } = context.thread;
  try {
    const move = await moderator.next(last, context);
    if ('end' in move) return await finish(run, head, move.end);
    if (rounds >= context.start.maxRounds) {
      const summary = `all ${context.start.maxRounds} rounds are used up; ${move.role} was next`;
      return await finish(run, head, { returnCode: ROUNDS_USED_UP, summary });
    }
    return await takeStep(run, move satisfies Move, context);
  } catch (error) {
    if (run.watch.signal.aborted || (await isOver(run, error))) return undefined;
    if (!isFault(error)) throw error;
    run.info.add('error', error.message);
    return finish(run, head, { returnCode: FAILED, summary: error.message });
  }
}

/** The commit came after someone else ended or removed the thread. The watch has not heard of that yet. */
async function isOver({ world: { engine }, id }: Run, error: unknown): Promise<boolean> {
  if (isQuipuError(error, 'NOT_FOUND')) return error.data.what === 'thread';
  if (!isQuipuError(error, 'HEAD_MOVED') || error.data.context !== id) return false;
  return (await readThread(engine, id)).state === 'completed';
}

/**
 * Returns true for errors that the role or the bundle is to blame for. Other errors are the store's, and the thread
 * stays as it is.
 */
function isFault(error: unknown): error is Error {
  if (error instanceof RunFailure) return true;
  return isQuipuError(error, 'INVALID') || isQuipuError(error, 'TOO_LARGE');
}

async function finish(
  { world, id, info, host }: Run,
  expectedHead: ThreadContext['thread']['head'],
  { returnCode, summary }: { readonly returnCode: number; readonly summary: string },
): Promise<Step> {
  info.addOutput(host.takeOutput());
  const meta = { returnCode, summary: summary.slice(0, 10_000) };
  return writeEnd(world, id, {
    meta,
    content: summary,
    artifacts: [],
    expectedHead,
    info: info.take(),
  });
}

async function readContext({ world: { engine }, id }: Run): Promise<ThreadContext | undefined> {
  try {
    return await assembleContext(engine, id);
  } catch (error) {
    if (isQuipuError(error, 'NOT_FOUND') && error.data.what === 'thread') return undefined;
    throw error;
  }
}

/** Reads the steps of roles so far, oldest first. Summaries made by hand are not among them. */
async function readRecorded(
  { world: { engine } }: Run,
  { head, start }: { readonly head: Step['hash']; readonly start: Step['hash'] },
): Promise<readonly StateAt[]> {
  if (head === start) return [];
  const states = (await readStates(engine, head)).toReversed();
  return states.filter(({ node }) => node.payload.role !== COMPACT_ROLE);
}

/** Describes the state of a thread that is not run any more. */
async function describeStop({ engine }: WorkflowWorld, id: ThreadId): Promise<RunResult> {
  try {
    const { state, head } = await readThread(engine, id);
    if (state === 'paused') return { threadId: id, state };
    if (state === 'active') return { threadId: id, state: 'interrupted' };
    const { returnCode, summary } = (await readState(engine, head)).payload.meta;
    return {
      threadId: id,
      state,
      ...(typeof returnCode === 'number' && { returnCode }),
      ...(typeof summary === 'string' && { summary }),
    };
  } catch (error) {
    if (!(error instanceof QuipuError) || error.code !== 'NOT_FOUND') throw error;
    return { threadId: id, state: 'removed' };
  }
}
