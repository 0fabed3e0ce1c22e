import { toHash, type Hash } from '../base/brand.ts';
import { checkBoolean, checkSignal, checkWhole } from '../base/check-value.ts';
import { invalid, orNothing, isQuipuError, notFound } from '../base/errors.ts';
import { ChangeBell } from '../engine/change-bell.ts';
import type { Engine } from '../engine/engine.ts';
import type { DocRow } from '../engine/rows.ts';
import { indexDoc, infoLog, noteDoc } from './home/documents.ts';
import { findReachableHashes, readState, END_ROLE } from './home/nodes.ts';
import {
  STEPS_DEFAULT,
  STEPS_MAX,
  toThreadId,
  type JsonObject,
  type WorkflowsHome,
  type ThreadId,
} from './home/workflows-home.ts';
import { assembleContext, collectSteps, walkSteps, readSteps } from './steps/walk-steps.ts';
import { listThreads, describeThread, describeThreads } from './threads/list-threads.ts';
import { parseIndex, readThread } from './threads/thread-docs.ts';
import type { IndexChange, InfoOptions, Thread, Workflows, Step } from './threads/workflows.ts';

type ReadVerbs = Pick<
  Workflows,
  'get' | 'list' | 'steps' | 'context' | 'info' | 'live' | 'watchIndex' | 'findReachableHashes'
>;

export function readVerbs(home: WorkflowsHome): ReadVerbs {
  const { engine } = home;
  return {
    async get(id, { details = false } = {}) {
      checkBoolean(details, 'details');
      return orNothing(async () => {
        const thread = await readThread(engine, toThreadId(id));
        return details ? describeThread(engine, thread, { wholePrompt: true }) : thread;
      }, 'NOT_FOUND');
    },

    async list(options = {}) {
      const { details = false, ...query } = options;
      checkBoolean(details, 'details');
      const page = await listThreads(engine, query);
      if (!details) return page;
      return { ...page, items: await describeThreads(engine, page.items) };
    },

    async steps(id, options = {}) {
      const { limit = STEPS_DEFAULT, before, content = true, maxBytes = Infinity } = options;
      const most = checkWhole(limit, 'limit', 1, STEPS_MAX);
      const { head, start } = await readThread(engine, toThreadId(id));
      const from = before === undefined ? head : await parentOf(engine, before, start);
      if (from === null || from === start) return { steps: [] };
      const rounds = walkSteps(engine, from, { limit: most });
      const found = await collectSteps(engine, rounds, { content, maxBytes });
      const steps = found.steps.slice(0, Math.max(1, found.fitting)).toReversed();
      const [oldest] = steps;
      return { steps, ...(oldest?.parent && { cursor: oldest.hash }) };
    },

    async context(id, { maxBytes = Infinity } = {}) {
      return assembleContext(engine, toThreadId(id), maxBytes);
    },

    async info(id, options = {}) {
      return readInfo(engine, await readThread(engine, toThreadId(id)), options);
    },

    live(id, options = {}) {
      const { after } = options;
      return liveSteps(home, { id: toThreadId(id), after, signal: checkSignal(options.signal) });
    },

    watchIndex(bundle, options = {}) {
      return watchIndex(home, toHash(bundle, 'bundle'), checkSignal(options.signal));
    },

    async findReachableHashes(roots) {
      return findReachableHashes(
        engine,
        [...roots].map((root) => toHash(root, 'root')),
      );
    },
  };
}

const INFO_LINES_AT_ONCE = 32;

async function readInfo(
  engine: Engine,
  thread: Thread,
  { from = 0, limit = STEPS_MAX, maxBytes = Infinity }: InfoOptions,
): Promise<readonly JsonObject[]> {
  const first = checkWhole(from, 'from', 0, Number.MAX_SAFE_INTEGER);
  const most = checkWhole(limit, 'limit', 1, STEPS_MAX);
  const name = infoLog(thread.bundle, thread.id);
  const lines: string[] = [];
  for (let bytes = 0; lines.length < most && bytes < maxBytes;) {
    const step = Math.min(INFO_LINES_AT_ONCE, most - lines.length);
    const read = await engine.readLog(name, first + lines.length, step);
    for (const line of read) bytes += line.length;
    lines.push(...read);
    if (read.length < step) break;
  }
  return lines.map((line) => JSON.parse(line) as JsonObject);
}

/** Returns the beginning of the page before a step. A step with another start does not belong to the thread. */
async function parentOf(engine: Engine, before: string, start: string): Promise<Hash | null> {
  const { refs } = await readState(engine, toHash(before, 'before'));
  if (refs[0] === start) return refs[1];
  throw invalid('before', 'is a step of another thread');
}

/** The versions kept for a busy reader; a reader that is further behind gets only the newest. */
const WAITING_MAX = 1000;
const WAITING_CHARS_MAX = 8 * 1024 * 1024;

/** Yields every version of an index, the present one first. */
async function* watchIndex(
  home: WorkflowsHome,
  bundle: Hash,
  signal: AbortSignal | undefined,
): AsyncGenerator<IndexChange, void, undefined> {
  const name = indexDoc(bundle);
  let waiting: DocRow[] = [];
  let missed = true;
  using bell = new ChangeBell(home, {
    signal,
    hear({ docs }) {
      const doc = docs.find((row) => row.name === name);
      if (doc === undefined) return false;
      waiting.push(doc);
      const chars = waiting.length * doc.content.length;
      if (waiting.length > WAITING_MAX || chars > WAITING_CHARS_MAX) waiting = [doc];
      return true;
    },
    miss() {
      missed = true;
    },
  });
  let told = -1;
  while (!bell.isOver) {
    if (missed) {
      missed = false;
      const empty = { name, version: 0, content: '{}' };
      waiting.push((await home.engine.getDoc(name)) ?? empty);
    }
    const next = waiting.shift();
    if (next === undefined) {
      await bell.wait();
    } else if (next.version > told) {
      told = next.version;
      const threads = Object.fromEntries(parseIndex(name, next.content));
      yield { version: next.version, threads };
    }
  }
}

/** The number of contents read at a time, as long as they are small. */
const STEPS_AT_ONCE = 32;
/** The contents that a slow reader holds, unless a single one takes more. */
const HELD_BYTES = 65_536;
const HASH_CHARS = 64;

interface LivePlan {
  readonly id: ThreadId;
  readonly after: string | undefined;
  readonly signal: AbortSignal | undefined;
}

/**
 * Reads instead of queueing: a commit only rings, and the steps since the last one told are read when the reader asks
 * again. So a slow reader costs a hash, and a reader that comes back is like one that was slow.
 */
async function* liveSteps(
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

/** Yields the steps after `last` up to the head, oldest first. */
async function* stepsBetween(
  engine: Engine,
  thread: Thread,
  last: Hash,
): AsyncGenerator<Step, void, undefined> {
  const hashes = await hashesBetween(engine, thread, last);
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
  { id, head, start }: Thread,
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
