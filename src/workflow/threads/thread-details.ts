import { orNothing } from '../../base/errors.ts';
import type { Engine } from '../../engine/engine.ts';
import { readStart, readState, readText } from '../nodes/node-reader.ts';
import type { Thread, ThreadDetails } from './workflows.ts';

const KILLED = 130;
/** The beginning of a prompt that a list shows. */
const PROMPT_CHARS = 200;

/** The beginning of a summary that a list shows: a page has thousands of threads. */
const SUMMARY_CHARS = 1000;

/** A prompt may have 8 MiB, and is read as a whole. */
const THREADS_AT_ONCE = 8;

/** For a list: with the beginnings of the prompts. */
export async function describeThreads(
  engine: Engine,
  threads: readonly Thread[],
): Promise<ThreadDetails[]> {
  const described: ThreadDetails[] = [];
  for (let at = 0; at < threads.length; at += THREADS_AT_ONCE) {
    const some = threads.slice(at, at + THREADS_AT_ONCE);
    const reads = some.map((thread) => describeThread(engine, thread, { wholePrompt: false }));
    described.push(...(await Promise.all(reads)));
  }
  return described;
}

/** Adds the facts that stand in the nodes of a thread. A node that is missing or damaged leaves its facts out. */
export async function describeThread(
  engine: Engine,
  thread: Thread,
  { wholePrompt }: { readonly wholePrompt: boolean },
): Promise<ThreadDetails> {
  const [begun, ended] = await Promise.all([
    unlessLost(() => readBegun(engine, thread)),
    thread.state === 'completed' ? unlessLost(() => readEnded(engine, thread)) : undefined,
  ]);
  const show = (text: string, maxChars: number): string =>
    wholePrompt ? text : cut(text, maxChars);
  return {
    ...thread,
    ...(begun !== undefined && { name: begun.name }),
    ...(begun?.prompt !== undefined && { prompt: show(begun.prompt, PROMPT_CHARS) }),
    ...ended,
    ...(ended?.summary !== undefined && { summary: show(ended.summary, SUMMARY_CHARS) }),
  };
}

/** No half of a character is left at the end. */
function cut(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  return `${text.slice(0, maxChars).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

async function readBegun(
  engine: Engine,
  { start }: Thread,
): Promise<{ readonly name: string; readonly prompt?: string }> {
  const { payload, refs } = await readStart(engine, start);
  const prompt = await unlessLost(() => readText(engine, refs[0], 'prompt'));
  return { name: payload.name, ...(prompt !== undefined && { prompt }) };
}

async function readEnded(
  engine: Engine,
  { head }: Thread,
): Promise<Pick<ThreadDetails, 'outcome' | 'returnCode' | 'summary'>> {
  const { returnCode, summary } = (await readState(engine, head)).payload.meta;
  return {
    ...(typeof returnCode === 'number' && { returnCode, outcome: toOutcome(returnCode) }),
    ...(typeof summary === 'string' && { summary }),
  };
}

function toOutcome(returnCode: number): NonNullable<ThreadDetails['outcome']> {
  if (returnCode === KILLED) return 'killed';
  return returnCode === 0 ? 'completed' : 'failed';
}

function unlessLost<T>(read: () => Promise<T>): Promise<T | undefined> {
  return orNothing(read, 'NOT_FOUND', 'CORRUPT');
}
