import { changeThread, headMoved } from '../threads/change-thread.ts';
import { DEPTH_MAX, ROUNDS_DEFAULT } from '../limits.ts';
import { readContent, readState } from '../nodes/node-reader.ts';
import { findThread, readThread } from '../threads/read-thread.ts';
import { mustGetBundle, readBundleSource } from '../bundles/registry-doc.ts';
import { startThread } from '../threads/start-thread.ts';
import type { ThreadContext } from '../threads/thread.ts';
import { newThreadId } from '../threads/thread-id.ts';
import type { ThreadId } from '../threads/thread-id.ts';
import { hasEnded } from '../steps/write-steps.ts';
import { isQuipuError } from '../../base/errors.ts';
import { BundleHost } from './bundle-host.ts';
import { RunFailure } from './run-failure.ts';
import type { RoleOutcome } from './run-role.ts';
import type { Run } from './run.ts';

interface ChildCall {
  readonly context: ThreadContext;
  readonly prompt: string | undefined;
}

/**
 * Runs a step that is a thread of another workflow. The caller's note names the child before it is started. A run that
 * goes on after a crash finds the child there and goes on with it, instead of calling a second one.
 */
export async function runChild(
  run: Run,
  workflow: string,
  call: ChildCall,
): Promise<{ outcome: RoleOutcome; thread: ThreadId } | undefined> {
  const { world, watch, options } = run;
  const thread = await nameChild(run, call.context);
  await startOnce(run, workflow, { ...call, thread });
  const { onStart: _, onStep: __, ...same } = options;
  const result = await run.runThread(world, thread, { ...same, signal: watch.signal });
  if (result.state === 'interrupted' || result.state === 'paused') return undefined;
  if (result.state === 'removed') throw new RunFailure(`the child ${thread} was removed`);
  const { head } = await readThread(world.engine, thread);
  const { refs } = await readState(world.engine, head);
  const { payload } = await readContent(world.engine, refs[2]);
  const { returnCode = 1, summary = '' } = result;
  // The child's last state is an artifact of this step, so keeping the caller keeps the child.
  const outcome = { content: payload, meta: { returnCode, summary }, artifacts: [head], puts: [] };
  return { outcome, thread };
}

async function nameChild({ world, id }: Run, { thread }: ThreadContext): Promise<ThreadId> {
  const { head } = thread;
  let child = newThreadId(world.clock());
  await changeThread(world, id, async ({ entry, note }) => {
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
  { world }: Run,
  workflow: string,
  { context, prompt, thread }: ChildCall & { readonly thread: ThreadId },
): Promise<void> {
  const { engine } = world;
  try {
    await findThread(engine, thread);
    return;
  } catch (error) {
    if (!isQuipuError(error, 'NOT_FOUND')) throw error;
  }
  const depth = context.start.depth + 1;
  if (depth > DEPTH_MAX)
    throw new RunFailure(`workflows call each other more than ${DEPTH_MAX} deep`);
  const hash = await findBundle(world, workflow);
  const { maxRounds = ROUNDS_DEFAULT } = await describe(world, hash);
  const payload = { name: workflow, hash, maxRounds, depth, parentState: context.thread.head };
  const asked = prompt ?? context.steps.at(-1)?.content ?? context.start.prompt;
  await startThread(world, { id: thread, payload, prompt: asked });
}

async function findBundle(
  world: Run['world'],
  workflow: string,
): Promise<ThreadContext['start']['bundle']> {
  try {
    return (await mustGetBundle(world.engine, workflow)).hash;
  } catch (error) {
    if (!isQuipuError(error, 'NOT_FOUND')) throw error;
    throw new RunFailure(error.message);
  }
}

async function describe(
  world: Run['world'],
  hash: ThreadContext['start']['bundle'],
): Promise<BundleHost['descriptor']> {
  await using host = await BundleHost.load(
    await readBundleSource(world.engine, hash),
    world.quickMs,
  );
  return host.descriptor;
}
