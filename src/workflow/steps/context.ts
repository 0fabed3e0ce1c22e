import { tooLarge, type QuipuError } from '../../base/errors.ts';
import type { Engine } from '../../engine/engine.ts';
import type { ThreadId } from '../home/workflows-home.ts';
import { readStart, readText, type StateAt } from '../home/nodes.ts';
import { findThread, toThread } from '../threads/thread-docs.ts';
import type { Thread, ThreadContext, ThreadStart } from '../threads/workflows.ts';
import { collectSteps, walkSteps } from './walk-steps.ts';

/**
 * Walks back from the head. A state with a summary ends the walk: the summary stands for everything before it. The
 * thread's note names that state, so that the last hop does not reach beyond it.
 */
export async function assembleContext(
  engine: Engine,
  id: ThreadId,
  maxBytes: number = Infinity,
): Promise<ThreadContext> {
  const found = await findThread(engine, id);
  const thread = toThread(id, found);
  const rounds = statesSince(engine, thread, found.note.value.compact);
  const [start, read] = await Promise.all([
    readThreadStart(engine, thread),
    collectSteps(engine, rounds, { maxBytes }),
  ]);
  if (read.fitting < read.steps.length) throw tooLong(maxBytes);
  const compact = read.steps.at(-1)?.compact;
  const summary = compact ? await readText(engine, compact, 'summary') : undefined;
  // A state that is nothing but a summary has nothing else to show.
  const steps = read.steps
    .toReversed()
    .filter((step) => step.compact === undefined || step.content !== '');
  return { thread, start, ...(summary !== undefined && { summary }), steps };
}

async function* statesSince(
  engine: Engine,
  { head, start }: Thread,
  until: StateAt['hash'] | undefined,
): AsyncGenerator<readonly StateAt[]> {
  if (head === start) return;
  for await (const round of walkSteps(engine, head, { until })) {
    const end = round.findIndex(({ node }) => node.payload.compact);
    yield end === -1 ? round : round.slice(0, end + 1);
    if (end !== -1) return;
  }
}

function tooLong(limit: number): QuipuError<'TOO_LARGE'> {
  const advice = 'read its steps in pages, or let a role write a summary';
  return tooLarge(
    'context',
    limit,
    limit + 1,
    `the context takes more than ${limit} bytes; ${advice}`,
  );
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
