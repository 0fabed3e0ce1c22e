import type { Hash } from '../../base/brand.ts';
import { QuipuError, isQuipuError, orNothing } from '../../base/errors.ts';
import { BundleHost } from '../bundles/bundle-host.ts';
import { readBundleSource, mustGetBundle } from '../bundles/bundles.ts';
import { RunFailure } from '../bundles/run-command.ts';
import {
  checkText,
  SUMMARY_BYTES_MAX,
  DEPTH_MAX,
  ROUNDS_DEFAULT,
  newThreadId,
  type ThreadId,
  type WorkflowsHome,
} from '../home/workflows-home.ts';
import {
  readState,
  readContent,
  encodeText,
  COMPACT_ROLE,
  END_ROLE,
  type StateAt,
  type StatePayload,
} from '../home/nodes.ts';
import { assembleContext, readSteps, readStates } from '../steps/walk-steps.ts';
import { writeEnd, writeStep, hasEnded, type StepRequest } from '../steps/write-steps.ts';
import { changeThread, headMoved, startThread } from '../threads/change-thread.ts';
import { findThread, readThread, toThread } from '../threads/thread-docs.ts';
import type { RunResult, ThreadOptions, Step, ThreadContext } from '../threads/workflows.ts';
import { generatorModerator, tableModerator, type Moderator, type Move } from './moderator.ts';
import { runRole, type RoleOutcome } from './run-role.ts';
import { InfoLines, RunWatch, type Run } from './run.ts';

// Runs a thread from its head to its end, one commit a step. A process that dies in the middle of a role leaves the
// thread as it was before it. The next process begins with that role.

const ROUNDS_USED_UP = 2;
const FAILED = 1;

/** `loaded` is the thread's bundle, if it is loaded already; it ends with the run. */
export async function runThread(
  home: WorkflowsHome,
  id: ThreadId,
  options: ThreadOptions,
  loaded?: BundleHost,
): Promise<RunResult> {
  const { engine } = home;
  const thread = toThread(id, await findThread(engine, id));
  await using host =
    loaded ?? (await BundleHost.load(await readBundleSource(engine, thread.bundle), home));
  if (thread.state !== 'active') return await describeStop(home, id);
  using watch = new RunWatch(home, id, options.signal);
  const run: Run = { home, id, host, watch, info: new InfoLines(home.clock), options };
  const recorded = await readRecorded(run, thread);
  const moderator = host.hasRun
    ? generatorModerator(host, await readSteps(engine, recorded))
    : tableModerator(host);
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
  return await describeStop(home, id);
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
    const move = await moderator(last, context);
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
async function isOver({ home: { engine }, id }: Run, error: unknown): Promise<boolean> {
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
  { home, id, info, host }: Run,
  expectedHead: Hash,
  { returnCode, summary }: { readonly returnCode: number; readonly summary: string },
): Promise<Step> {
  info.addOutput(host.takeOutput());
  const meta = { returnCode, summary: summary.slice(0, 10_000) };
  return writeEnd(home, id, {
    meta,
    content: summary,
    artifacts: [],
    expectedHead,
    info: info.take(),
  });
}

async function readContext({ home: { engine }, id }: Run): Promise<ThreadContext | undefined> {
  try {
    return await assembleContext(engine, id);
  } catch (error) {
    if (isQuipuError(error, 'NOT_FOUND') && error.data.what === 'thread') return undefined;
    throw error;
  }
}

/** Reads the steps of roles so far, oldest first. Summaries made by hand are not among them. */
async function readRecorded(
  { home: { engine } }: Run,
  { head, start }: Record<'head' | 'start', Hash>,
): Promise<readonly StateAt[]> {
  if (head === start) return [];
  const states = (await readStates(engine, head)).toReversed();
  return states.filter(({ node }) => node.payload.role !== COMPACT_ROLE);
}

/** Describes the state of a thread that is not run any more. */
async function describeStop({ engine }: WorkflowsHome, id: ThreadId): Promise<RunResult> {
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

interface RoleMove {
  readonly role: string;
  readonly prompt?: string;
}

/** Runs a role and records its result. Returns undefined when the role was stopped half-way: nothing is recorded. */
async function takeStep(
  run: Run,
  { role: name, prompt }: RoleMove,
  context: ThreadContext,
): Promise<Step | undefined> {
  const { home, host, watch, info, options } = run;
  const role = host.descriptor.roles[name];
  if (role === undefined) throw new RunFailure(`${name} is no role`);
  info.add('info', `${name} begins`);
  const expectedHead = context.thread.head;
  if (role.workflow !== undefined) {
    const child = await runChild(run, role.workflow, { context, prompt });
    if (child === undefined) return undefined;
    const { outcome, thread } = child;
    return recordStep(run, expectedHead, { role: name, childThread: thread }, outcome);
  }
  const asked = prompt === undefined ? context : withPrompt(context, prompt);
  const { signal } = watch;
  const warn = (text: string): void => info.add('warn', text);
  const { cwd, session } = options;
  const call = { name, role, context: asked, host, signal, cwd, session, warn };
  const outcome = await runRole(home, call);
  if (role.compact !== true) return recordStep(run, expectedHead, { role: name }, outcome);
  const summary = encodeText(checkText(outcome.content, 'summary', SUMMARY_BYTES_MAX));
  const said = { role: name, compact: summary.hash };
  return recordStep(run, expectedHead, said, { ...outcome, content: '', puts: [summary] });
}

/** The prompt of this step alone comes last, where a reader looks. */
function withPrompt(context: ThreadContext, prompt: string): ThreadContext {
  const { start } = context;
  return { ...context, start: { ...start, prompt: `${start.prompt}\n\n${prompt}` } };
}

/** Records the result of a role behind the head that the thread had when the role began. */
async function recordStep(
  run: Run,
  expectedHead: Hash,
  said: Pick<StatePayload, 'role' | 'compact' | 'childThread'>,
  { content, meta, artifacts, puts }: RoleOutcome,
): Promise<Step> {
  const { home, id, host, info } = run;
  info.addOutput(host.takeOutput());
  const payload = { ...said, meta, timestamp: home.clock() };
  const draft = { payload, content, artifacts };
  const lines = info.take();
  const write = (head: Hash): Promise<Step> => {
    const request: StepRequest = { draft, puts, expectedHead: head, info: lines };
    return writeStep(home, id, request, (state, found) => {
      const { child: _, ...rest } = found.note.value;
      const compacts = said.compact === undefined ? {} : { compact: state.hash };
      const changed = found.note.value.child !== undefined || said.compact !== undefined;
      return changed ? { note: { ...rest, ...compacts } } : {};
    });
  };
  try {
    return await write(expectedHead);
  } catch (error) {
    const head = await headBehindSummary(run, expectedHead, error);
    if (head === undefined) throw error;
    return write(head);
  }
}

/** A summary from outside that came while the role was at work says nothing new: the step goes behind it. */
async function headBehindSummary(
  { home: { engine }, id }: Run,
  before: Hash,
  error: unknown,
): Promise<Hash | undefined> {
  if (!isQuipuError(error, 'HEAD_MOVED') || error.data.context !== id) return undefined;
  const { head, start } = await readThread(engine, id);
  if (head === start) return undefined;
  const { payload, refs } = await readState(engine, head);
  const isSummary = payload.role === COMPACT_ROLE && (refs[1] ?? start) === before;
  return isSummary ? head : undefined;
}

interface ChildCall {
  readonly context: ThreadContext;
  readonly prompt: string | undefined;
}

/**
 * Runs a step that is a thread of another workflow. The caller's note names the child before it is started. A run that
 * goes on after a crash finds the child there and goes on with it, instead of calling a second one.
 */
async function runChild(
  run: Run,
  workflow: string,
  call: ChildCall,
): Promise<{ outcome: RoleOutcome; thread: ThreadId } | undefined> {
  const { home, watch, options } = run;
  const thread = await nameChild(run, call.context);
  await startOnce(run, workflow, { ...call, thread });
  const { onStart: _, onStep: __, ...same } = options;
  const result = await runThread(home, thread, { ...same, signal: watch.signal });
  if (result.state === 'interrupted' || result.state === 'paused') return undefined;
  if (result.state === 'removed') throw new RunFailure(`the child ${thread} was removed`);
  const { head } = await readThread(home.engine, thread);
  const { refs } = await readState(home.engine, head);
  const { payload } = await readContent(home.engine, refs[2]);
  const { returnCode = 1, summary = '' } = result;
  // The child's last state is an artifact of this step, so keeping the caller keeps the child.
  const outcome = { content: payload, meta: { returnCode, summary }, artifacts: [head], puts: [] };
  return { outcome, thread };
}

async function nameChild({ home, id }: Run, { thread }: ThreadContext): Promise<ThreadId> {
  const { head } = thread;
  let child = newThreadId(home.clock());
  await changeThread(home, id, async ({ entry, note }) => {
    if (entry === undefined) throw hasEnded(id, note.value.head);
    if (entry.head !== head) throw headMoved(id, head, entry.head);
    const named = note.value.child;
    if (named?.at === head) {
      child = named.thread;
      return undefined;
    }
    return { entry, note: { ...note.value, child: { at: head, thread: child } } };
  });
  return child;
}

async function startOnce(
  { home }: Run,
  workflow: string,
  { context, prompt, thread }: ChildCall & { readonly thread: ThreadId },
): Promise<void> {
  const { engine } = home;
  if ((await orNothing(() => findThread(engine, thread), 'NOT_FOUND')) !== undefined) return;
  const depth = context.start.depth + 1;
  if (depth > DEPTH_MAX)
    throw new RunFailure(`workflows call each other more than ${DEPTH_MAX} deep`);
  const hash = await findBundle(home, workflow);
  await using host = await BundleHost.load(await readBundleSource(engine, hash), home);
  const { maxRounds = ROUNDS_DEFAULT } = host.descriptor;
  const payload = { name: workflow, hash, maxRounds, depth, parentState: context.thread.head };
  const asked = prompt ?? context.steps.at(-1)?.content ?? context.start.prompt;
  await startThread(home, { id: thread, payload, prompt: asked });
}

async function findBundle({ engine }: WorkflowsHome, workflow: string): Promise<Hash> {
  try {
    return (await mustGetBundle(engine, workflow)).hash;
  } catch (error) {
    if (!isQuipuError(error, 'NOT_FOUND')) throw error;
    throw new RunFailure(error.message);
  }
}
