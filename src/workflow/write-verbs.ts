import { toHash, type Hash } from '../base/brand.ts';
import { checkWhole, checkSignal } from '../base/check-value.ts';
import { invalid } from '../base/errors.ts';
import { checkBounded, kindOf } from '../base/text.ts';
import type { Engine } from '../engine/engine.ts';
import { mustGetBundle, readBundleSource } from './bundles/bundles.ts';
import { runCommand } from './bundles/run-command.ts';
import { checkName, checkRole } from './home/documents.ts';
import { encodeText, COMPACT_ROLE, type StartNode } from './home/nodes.ts';
import {
  checkMeta,
  checkRefs,
  checkText,
  DEPTH_MAX,
  NODE_BYTES_MAX,
  PROMPT_BYTES_MAX,
  ROUNDS_DEFAULT,
  ROUNDS_MAX,
  SUMMARY_BYTES_MAX,
  newThreadId,
  toThreadId,
  type WorkflowsHome,
  type ThreadId,
} from './home/workflows-home.ts';
import { assembleContext, renderContext } from './steps/walk-steps.ts';
import { forkThread } from './steps/fork-thread.ts';
import { writeEnd, writeStep, setPaused, hasEnded } from './steps/write-steps.ts';
import { changeThread, planRemoval, startThread } from './threads/change-thread.ts';
import { readThread } from './threads/thread-docs.ts';
import type {
  EndThread,
  StartThread,
  Summarise,
  Workflows,
  ThreadOptions,
} from './threads/workflows.ts';

type ThreadVerbs = Pick<
  Workflows,
  'start' | 'step' | 'end' | 'compact' | 'kill' | 'fork' | 'remove' | 'pause'
>;

const KILLED = 130;

export function threadVerbs(home: WorkflowsHome): ThreadVerbs {
  const { engine, clock } = home;

  async function end(id: string, options: EndThread = {}): ReturnType<Workflows['end']> {
    const returnCode = checkWhole(options.returnCode ?? 0, 'returnCode', 0, 255);
    const summary = checkText(options.summary ?? '', 'summary', SUMMARY_BYTES_MAX);
    const meta = { ...checkMeta(options.meta), returnCode, summary };
    const { refs, expectedHead } = options;
    const artifacts = await checkRefs(engine, refs);
    return writeEnd(home, id, { meta, content: summary, artifacts, expectedHead });
  }

  return {
    async start(options) {
      const prompt = checkText(options.prompt, 'prompt', PROMPT_BYTES_MAX);
      const payload = await startPayload(engine, options);
      return startThread(home, { id: newThreadId(clock()), payload, prompt });
    },

    async step(id, step) {
      const thread = toThreadId(id);
      const role = checkRole(step.role);
      const content = checkText(step.content, 'content', NODE_BYTES_MAX);
      const meta = checkMeta(step.meta);
      const summary =
        step.compact === undefined
          ? undefined
          : encodeText(checkBounded(step.compact, 'compact', SUMMARY_BYTES_MAX));
      const { childThread, expectedHead } = step;
      const artifacts = await checkRefs(engine, step.refs);
      const payload = {
        role,
        meta,
        timestamp: clock(),
        ...(summary !== undefined && { compact: summary.hash }),
        ...(childThread !== undefined && { childThread: toThreadId(childThread) }),
      };
      const draft = { payload, content, artifacts };
      const puts = summary === undefined ? [] : [summary];
      const request = { draft, puts, expectedHead, isRound: true };
      return writeStep(home, thread, request, (state, { note }) =>
        summary === undefined ? {} : { note: { ...note.value, compact: state.hash } },
      );
    },

    end,

    async compact(id, summarise) {
      const thread = toThreadId(id);
      const { text, head } = await summariseThread(home, thread, summarise);
      const summary = encodeText(checkBounded(text, 'summary', SUMMARY_BYTES_MAX));
      const payload = { role: COMPACT_ROLE, meta: {}, timestamp: clock(), compact: summary.hash };
      const draft = { payload, content: '', artifacts: [] };
      // Steps that came while the summary was written are not in it. The summary must then be written again.
      const request = { draft, puts: [summary], expectedHead: head };
      return writeStep(home, thread, request, (state, { note }) => ({
        note: { ...note.value, compact: state.hash },
      }));
    },

    async kill(id, reason = 'killed') {
      return end(id, { returnCode: KILLED, summary: reason });
    },

    async fork(id, { at } = {}) {
      return forkThread(home, toThreadId(id), at);
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

async function startPayload(engine: Engine, options: StartThread): Promise<StartNode['payload']> {
  const name = checkName(options.name);
  const { maxRounds = ROUNDS_DEFAULT, depth = 0, parentState } = options;
  const hash =
    options.bundle === undefined
      ? (await mustGetBundle(engine, name)).hash
      : toHash(options.bundle, 'bundle');
  return {
    name,
    hash,
    maxRounds: checkWhole(maxRounds, 'maxRounds', 0, ROUNDS_MAX),
    depth: checkWhole(depth, 'depth', 0, DEPTH_MAX),
    ...(parentState !== undefined && { parentState: toHash(parentState, 'parentState') }),
  };
}

/** The summary, and the head it was written for. */
async function summariseThread(
  home: WorkflowsHome,
  id: ThreadId,
  summarise: Summarise,
): Promise<{ text: string; head: Hash }> {
  const context = await assembleContext(home.engine, id);
  const { head } = context.thread;
  if (typeof summarise === 'string') return { text: summarise, head };
  if (typeof summarise === 'function') return { text: await summarise(context), head };
  if (kindOf(summarise) !== 'object' || typeof summarise.command !== 'string') {
    throw invalid('summarise', 'must be a text, a function or {command}');
  }
  const { command, signal } = summarise;
  const text = await runCommand(command, { input: renderContext(context), signal });
  return { text, head };
}

/** The code that runs bundles is loaded when something is run. */
export function runVerbs(home: WorkflowsHome): Pick<Workflows, 'run' | 'resume'> {
  const { engine, clock, quickMs } = home;
  return {
    async run(workflow, options) {
      const name = checkName(workflow);
      const prompt = checkText(options.prompt, 'prompt', PROMPT_BYTES_MAX);
      checkRunning(options);
      const { hash } = await mustGetBundle(engine, name);
      const { BundleHost } = await import('./bundles/bundle-host.ts');
      const { runThread } = await import('./run/run-thread.ts');
      await using host = await BundleHost.load(await readBundleSource(engine, hash), { quickMs });
      const rounds = options.maxRounds ?? host.descriptor.maxRounds ?? ROUNDS_DEFAULT;
      const maxRounds = checkWhole(rounds, 'maxRounds', 0, ROUNDS_MAX);
      const payload = { name, hash, maxRounds, depth: 0 };
      const { id } = await startThread(home, { id: newThreadId(clock()), payload, prompt });
      options.onStart?.(id);
      return await runThread(home, id, options, host);
    },

    async resume(id, options = {}) {
      const thread = toThreadId(id);
      checkRunning(options);
      const { state, head } = await readThread(engine, thread);
      if (state === 'completed') throw hasEnded(thread, head);
      if (state === 'paused') await setPaused(home, thread, false);
      const { runThread } = await import('./run/run-thread.ts');
      options.onStart?.(thread);
      return runThread(home, thread, options);
    },
  };
}

function checkRunning({ signal, session }: ThreadOptions): void {
  checkSignal(signal);
  if (session !== undefined && typeof session !== 'string') {
    throw invalid('session', `must be the id or the file of a session, got ${kindOf(session)}`);
  }
}
