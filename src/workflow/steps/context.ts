import type { Engine } from '../../engine/engine.ts';
import type { ThreadId } from '../home/workflows-home.ts';
import { readStart, readText } from '../nodes/node-reader.ts';
import type { StateAt } from '../nodes/nodes.ts';
import { findThread, toThread } from '../threads/read-thread.ts';
import type { Thread, ThreadContext, ThreadStart } from '../threads/workflows.ts';
import { readSteps, walkSteps } from './walk-steps.ts';

/**
 * Walks back from the head. A state with a summary ends the walk: the summary stands for everything before it. The
 * thread's note names that state, so that the last hop does not reach beyond it.
 */
export async function assembleContext(engine: Engine, id: ThreadId): Promise<ThreadContext> {
  const found = await findThread(engine, id);
  const thread = toThread(id, found);
  const [start, states] = await Promise.all([
    readThreadStart(engine, thread),
    statesSince(engine, thread, found.note.value.compact),
  ]);
  const compact = states.at(-1)?.node.payload.compact;
  const [summary, read] = await Promise.all([
    compact ? readText(engine, compact, 'summary') : undefined,
    readSteps(engine, states.toReversed()),
  ]);
  // A state that is nothing but a summary has nothing else to show.
  const steps = read.filter((step) => step.compact === undefined || step.content !== '');
  return { thread, start, ...(summary !== undefined && { summary }), steps };
}

async function statesSince(
  engine: Engine,
  { head, start }: Thread,
  until: StateAt['hash'] | undefined,
): Promise<StateAt[]> {
  const states: StateAt[] = [];
  if (head === start) return states;
  for await (const round of walkSteps(engine, head, { until })) {
    for (const state of round) {
      states.push(state);
      if (state.node.payload.compact) return states;
    }
  }
  return states;
}

async function readThreadStart(engine: Engine, { start }: Thread): Promise<ThreadStart> {
  const { payload, refs } = await readStart(engine, start);
  const { hash: bundle, ...rest } = payload;
  return { ...rest, bundle, prompt: await readText(engine, refs[0], 'prompt') };
}

/** Renders a context as text, for a program that reads it from standard input. */
export function renderContext({ start, summary, steps }: Omit<ThreadContext, 'thread'>): string {
  const parts = [`# ${start.name}`, start.prompt];
  if (summary !== undefined) parts.push('## Summary of the steps before', summary);
  for (const { role, content = '' } of steps) parts.push(`## ${role}`, content);
  return `${parts.map((part) => part.trimEnd()).join('\n\n')}\n`;
}
