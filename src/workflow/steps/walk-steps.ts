import type { Hash } from '../../base/brand.ts';
import { tooLarge } from '../../base/errors.ts';
import type { BlobPut } from '../../engine/batch.ts';
import type { Engine } from '../../engine/engine.ts';
import {
  readState,
  readContent,
  damaged,
  encodeNode,
  readStart,
  readText,
  type BlobReader,
  type StateAt,
  type StateNode,
  type ContentNode,
} from '../home/nodes.ts';
import { ANCESTORS_MAX, type ThreadId } from '../home/workflows-home.ts';
import { findThread, toThread } from '../threads/thread-docs.ts';
import type { Step, Thread, ThreadContext, ThreadStart } from '../threads/workflows.ts';

interface WalkBounds {
  readonly limit?: number;
  /** The walk ends with this state: nothing before it is read. */
  readonly until?: Hash | undefined;
}

/**
 * Yields `from` and the states before it, newest first. One read shows the names of the eleven before it, and these are
 * read side by side: the last twenty steps take three rounds, whatever the length of the thread. Each yield is one
 * round.
 */
export async function* walkSteps(
  blobs: BlobReader,
  from: Hash,
  { limit = Infinity, until }: WalkBounds = {},
): AsyncGenerator<readonly StateAt[], void, undefined> {
  let newest: StateAt = { hash: from, node: await readState(blobs, from) };
  let left = limit - 1;
  yield [newest];
  while (left > 0 && newest.hash !== until) {
    const states = await readLinks(blobs, newest, left, until);
    const last = states.at(-1);
    if (last === undefined) return;
    yield states;
    left -= states.length;
    newest = last;
  }
}

async function readLinks(
  blobs: BlobReader,
  { hash, node }: StateAt,
  limit: number,
  until: Hash | undefined,
): Promise<readonly StateAt[]> {
  const known = linksOf(node);
  const end = until === undefined ? -1 : known.indexOf(until);
  const wanted = known.slice(0, Math.min(limit, end === -1 ? known.length : end + 1));
  const states = await Promise.all(
    wanted.map(async (link) => ({ hash: link, node: await readState(blobs, link) })),
  );
  checkLinks(hash, node, states);
  return states;
}

/** The skip list is a promise about the chain, and every use checks it. */
function checkLinks(hash: Hash, node: StateNode, states: readonly StateAt[]): void {
  for (const [at, state] of states.entries()) {
    if (state.node.refs[0] !== node.refs[0]) {
      throw damaged(hash, `leads to ${state.hash}, which belongs to another start`);
    }
    const next = states[at + 1];
    if (next !== undefined && state.node.refs[1] !== next.hash) {
      throw damaged(hash, `lists ${next.hash} where its chain has ${state.node.refs[1]}`);
    }
  }
}

/** Returns all states in one array, newest first. */
export async function readStates(
  blobs: BlobReader,
  from: Hash,
  bounds: WalkBounds = {},
): Promise<StateAt[]> {
  const states: StateAt[] = [];
  for await (const round of walkSteps(blobs, from, bounds)) states.push(...round);
  return states;
}

/**
 * Yields the names of `from` and of all states before it, newest first, of which one in ten is read. A state names
 * eleven: the tenth is read next, and must name the eleventh as its parent. So a skip list which lies about the chain
 * is noticed.
 */
export async function* hopSteps(
  blobs: BlobReader,
  from: Hash,
): AsyncGenerator<readonly Hash[], void, undefined> {
  let node = await readState(blobs, from);
  let hash = from;
  yield [from];
  for (let links = linksOf(node); links.length > 0; links = linksOf(node)) {
    const [next, behind] = links.slice(-2) as [Hash, Hash?];
    const state = await readState(blobs, next);
    if (state.refs[0] !== node.refs[0]) {
      throw damaged(hash, `leads to ${next}, which belongs to another start`);
    }
    if (behind !== undefined && state.refs[1] !== behind) {
      throw damaged(hash, `lists ${behind} where its chain has ${state.refs[1]}`);
    }
    yield behind === undefined ? links : links.slice(0, -1);
    [hash, node] = [next, state];
  }
}

export function toStep(
  { hash, node: { payload, refs } }: StateAt,
  content?: Pick<ContentNode, 'payload' | 'refs'>,
): Step {
  const { role, meta, timestamp, compact, childThread } = payload;
  return {
    hash,
    parent: refs[1],
    role,
    meta,
    timestamp,
    ...(content !== undefined && { content: content.payload, refs: content.refs }),
    ...(compact && { compact }),
    ...(childThread !== undefined && { childThread }),
  };
}

interface CollectOptions {
  /** Default true. */
  readonly content?: boolean;
  /** Default: no limit. */
  readonly maxBytes?: number;
}

interface CollectedSteps {
  /** Newest first. */
  readonly steps: readonly Step[];
  /** The number of steps that take at most `maxBytes` together. */
  readonly fitting: number;
}

/**
 * Reads the contents of each round of a walk while the walk goes on. With a limit of bytes, a round is read before the
 * next one, so that no more than the limit and a round is in memory.
 */
export async function collectSteps(
  blobs: BlobReader,
  rounds: AsyncIterable<readonly StateAt[]>,
  { content = true, maxBytes = Infinity }: CollectOptions,
): Promise<CollectedSteps> {
  const reads: Promise<readonly Step[]>[] = [];
  let fitting = 0;
  let left = maxBytes;
  for await (const round of rounds) {
    const read = content
      ? readSteps(blobs, round)
      : Promise.resolve(round.map((state) => toStep(state)));
    reads.push(read);
    // The end of this function waits for all of them, and so sees a failure.
    read.catch(() => undefined);
    if (maxBytes === Infinity) continue;
    for (const step of await read) {
      left -= sizeOf(step);
      if (left >= 0) fitting += 1;
    }
    if (left < 0) break;
  }
  const steps = (await Promise.all(reads)).flat();
  return { steps, fitting: maxBytes === Infinity ? steps.length : fitting };
}

const HASH_CHARS = 64;

/** The characters of a step, about as many as it has in JSON. */
function sizeOf({ role, meta, content = '', refs = [] }: Step): number {
  return (
    role.length + JSON.stringify(meta).length + content.length + HASH_CHARS * (3 + refs.length)
  );
}

/** Reads steps with their contents, side by side. */
export async function readSteps(blobs: BlobReader, states: readonly StateAt[]): Promise<Step[]> {
  return Promise.all(
    states.map(async (state) => toStep(state, await readContent(blobs, state.node.refs[2]))),
  );
}

export interface StepDraft extends Pick<StateNode, 'payload'> {
  readonly content: string;
  /** Artifacts, which are stored already or put beside. */
  readonly artifacts: readonly Hash[];
}

export interface PlannedStep {
  readonly state: StateAt;
  readonly puts: readonly BlobPut[];
}

/** Plans the two nodes of a step behind `parent`; undefined: the first step after the start. */
export function planStep(
  start: Hash,
  parent: StateAt | undefined,
  { payload, content, artifacts }: StepDraft,
): PlannedStep {
  // The grandparent and the states before it, newest first: the parent's list, one further.
  const ancestors = parent === undefined ? [] : linksOf(parent.node).slice(0, ANCESTORS_MAX);
  const contentPut = encodeNode({ type: 'content', payload: content, refs: artifacts });
  const node: StateNode = {
    type: 'state',
    payload,
    refs: [start, parent?.hash ?? null, contentPut.hash, ...ancestors],
  };
  const statePut = encodeNode(node);
  return { state: { hash: statePut.hash, node }, puts: [contentPut, statePut] };
}

/** Returns the parent and the ancestors: up to eleven states before this one, newest first, without a gap. */
function linksOf({ refs: [, parent, , ...ancestors] }: StateNode): readonly Hash[] {
  return parent === null ? [] : [parent, ...ancestors];
}

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
  if (read.fitting < read.steps.length) {
    const advice = 'read its steps in pages, or let a role write a summary';
    const message = `the context takes more than ${maxBytes} bytes; ${advice}`;
    throw tooLarge('context', maxBytes, maxBytes + 1, message);
  }
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
