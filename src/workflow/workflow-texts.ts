import { decodeTime } from 'ulid';
import type { Hash } from '../base/brand.ts';
import { isQuipuError, orNothing } from '../base/errors.ts';
import type { Change } from '../engine/batch.ts';
import { eachName } from '../engine/names.ts';
import type { Engine } from '../engine/engine.ts';
import type { TextChange, TextDocument, TextMarks, TextPage, TextSource } from '../engine/texts.ts';
import { bundleOfIndex, eachNote, isHash, threadOfNote } from './home/documents.ts';
import { toThreadId } from './home/workflows-home.ts';
import { readContent, readStart, readState, readText } from './home/nodes.ts';
import { hopSteps, walkSteps } from './steps/walk-steps.ts';
import { readThread, parseIndex } from './threads/thread-docs.ts';

// The texts of workflow threads: the prompt, and what was said in each step, with the strings of its meta. The mark of a
// thread is the last state that was read, and its depth. A fork shares the states before it, and they are read once.

const PAGE_STATES = 100;

type Page = Omit<TextPage, 'done' | 'total'>;

export function workflowTexts(engine: Engine): TextSource {
  const changed = new Set<string>();
  const heads = new Map<string, Hash>();
  let isMissed = true;

  return {
    kind: 'workflow',
    hear(change) {
      noteChanged(change, changed, heads);
    },
    miss() {
      isMissed = true;
    },

    async *read(marks) {
      if (isMissed) {
        isMissed = false;
        heads.clear();
        for await (const id of eachNote(engine)) changed.add(id);
        const known = eachName((limit, after) => marks.list(limit, after));
        for await (const id of known) changed.add(id);
      }
      const ids = [...changed].toSorted();
      changed.clear();
      for (const [at, id] of ids.entries()) {
        const pages = readThreadTexts(engine, marks, id, (fork) => changed.add(fork));
        for await (const page of pages) yield { ...page, done: at + 1, total: ids.length };
      }
    },

    load: (documents) =>
      Promise.all(
        documents.map(async ({ thread, ref }) => {
          return (await isThere(engine, thread))
            ? loadState(engine, { thread, ref, depth: 0 })
            : undefined;
        }),
      ),

    async around(thread, ref, count) {
      const head = await headOf(engine, thread);
      if (head === undefined || !isHash(ref)) return [];
      return statesAround(engine, { thread, head, ref, count });
    },

    async gone(documents) {
      const missing = [];
      for (const one of documents) {
        if (!isHash(one.ref) || !(await engine.hasBlob(one.ref))) missing.push(one);
      }
      return missing;
    },

    shows: (thread) => isThere(engine, thread),
  };
}

/** A step changes the index of its bundle, which has all its threads: those whose heads moved are noted. */
function noteChanged(change: Change, changed: Set<string>, heads: Map<string, Hash>): void {
  for (const { name, content } of change.docs) {
    const thread = threadOfNote(name);
    if (thread !== undefined) changed.add(thread);
    if (bundleOfIndex(name) === undefined) continue;
    for (const [id, { head }] of readIndexText(name, content)) {
      if (heads.get(id) === head) continue;
      heads.set(id, head);
      changed.add(id);
    }
  }
  for (const name of change.removedDocs) {
    const thread = threadOfNote(name);
    if (thread === undefined) continue;
    changed.add(thread);
    heads.delete(thread);
  }
}

function readIndexText(name: string, content: string): ReturnType<typeof parseIndex> {
  try {
    return parseIndex(name, content);
  } catch {
    // The document is damaged: whoever reads the thread is told.
    return new Map();
  }
}

async function headOf(engine: Engine, thread: string): Promise<Hash | undefined> {
  return (await orNothing(() => readThread(engine, toThreadId(thread))))?.head;
}

async function isThere(engine: Engine, thread: string): Promise<boolean> {
  return (await headOf(engine, thread)) !== undefined;
}

async function* readThreadTexts(
  engine: Engine,
  marks: TextMarks,
  id: string,
  readAgain: (thread: string) => void,
): AsyncGenerator<Page> {
  const mark = await marks.get(id);
  const head = await headOf(engine, id);
  if (head === undefined) {
    if (mark === undefined) return;
    // The states that forks share with a thread that is removed become theirs.
    const forks = (await marks.forksOf(id)).map(({ thread }) => thread);
    const gone = [id, ...forks];
    yield {
      changes: gone.map((thread) => ({ removeThread: thread })),
      marks: gone.map((thread) => [thread, undefined] as const),
    };
    forks.forEach(readAgain);
    return;
  }
  const [known, depth = '0'] = mark?.split('.') ?? [];
  if (known === head) return;
  try {
    const found = await findNew(engine, marks, { head, known, depth: Number(depth) });
    if (found.fork !== undefined) {
      yield { changes: [{ fork: { thread: id, ...found.fork } }], marks: [] };
    }
    yield* readStates(engine, { thread: id, head }, found);
  } catch (error) {
    // A chain with damage in it is not searched; reading it says where the damage is.
    if (!isQuipuError(error)) throw error;
  }
}

interface NewStates {
  /** Oldest first. The first one may be the start. */
  readonly states: readonly Hash[];
  readonly firstDepth: number;
  readonly fork?: { readonly parent: string; readonly depth: number };
}

interface Walk {
  readonly head: Hash;
  readonly known: string | undefined;
  readonly depth: number;
}

/** Walks back from the head to a state that is known: of this thread, or of the one it was forked from. */
async function findNew(
  engine: Engine,
  marks: TextMarks,
  { head, known, depth }: Walk,
): Promise<NewStates> {
  const states: Hash[] = [];
  if (!(await isStart(engine, head))) {
    for await (const names of hopSteps(engine, head)) {
      for (const name of names) {
        if (name === known) return { states: states.toReversed(), firstDepth: depth + 1 };
        const other = known === undefined ? await marks.find(name) : undefined;
        if (other !== undefined) {
          const fork = { parent: other.thread, depth: other.depth };
          return { states: states.toReversed(), firstDepth: other.depth + 1, fork };
        }
        states.push(name);
      }
    }
  }
  const start = states.length === 0 ? head : (await readState(engine, head)).refs[0];
  const origin = known === undefined ? await marks.find(start) : undefined;
  if (origin !== undefined) {
    const fork = { parent: origin.thread, depth: 0 };
    return { states: states.toReversed(), firstDepth: 1, fork };
  }
  return { states: [start, ...states.toReversed()], firstDepth: 0 };
}

async function isStart(engine: Engine, hash: Hash): Promise<boolean> {
  return (await orNothing(() => readStart(engine, hash), 'CORRUPT')) !== undefined;
}

async function* readStates(
  engine: Engine,
  { thread, head }: { readonly thread: string; readonly head: Hash },
  { states, firstDepth }: NewStates,
): AsyncGenerator<Page> {
  for (let at = 0; at < states.length; at += PAGE_STATES) {
    const changes: TextChange[] = [];
    const page = states.slice(at, at + PAGE_STATES);
    for (const [index, ref] of page.entries()) {
      const document = await loadState(engine, { thread, ref, depth: firstDepth + at + index });
      if (document !== undefined) changes.push({ put: document });
    }
    yield { changes, marks: [[thread, `${page.at(-1)}.${firstDepth + at + page.length - 1}`]] };
  }
  // A fork that has not gone on yet has no states of its own.
  if (states.length === 0) yield { changes: [], marks: [[thread, `${head}.${firstDepth - 1}`]] };
}

interface StateRef {
  readonly thread: string;
  readonly ref: string;
  readonly depth: number;
}

/** Undefined when the content is gone, as after an erasure. */
async function loadState(
  engine: Engine,
  { thread, ref, depth }: StateRef,
): Promise<TextDocument | undefined> {
  if (!isHash(ref)) return undefined;
  const place = { thread, ref, depth };
  return orNothing(async () => {
    if (await isStart(engine, ref)) {
      const { payload, refs } = await readStart(engine, ref);
      const value = [await readText(engine, refs[0], 'prompt'), payload.name];
      const at = decodeTime(thread);
      return { ...place, at, type: 'prompt', role: 'user', value, blob: refs[0] };
    }
    const { payload, refs } = await readState(engine, ref);
    const { role, meta, timestamp: at, compact } = payload;
    const content = await readContent(engine, refs[2]);
    const summary = compact ? await readText(engine, compact, 'summary') : '';
    const value = [content.payload, meta, summary];
    return { ...place, at, type: 'step', role, value, blob: refs[2] };
  });
}

interface Around {
  readonly thread: string;
  readonly head: Hash;
  readonly ref: Hash;
  readonly count: number;
}

const LOOKED_STATES = 10_000;

async function statesAround(
  engine: Engine,
  { thread, head, ref, count }: Around,
): Promise<TextDocument[]> {
  const names: Hash[] = [];
  let left = Infinity;
  for await (const states of walkSteps(engine, head, { limit: LOOKED_STATES })) {
    for (const { hash } of states) {
      if (left === Infinity && names.length > count) names.shift();
      names.push(hash);
      left = hash === ref ? count : left - 1;
      if (left <= 0) break;
    }
    if (left <= 0) break;
  }
  if (left === Infinity) return [];
  const documents: TextDocument[] = [];
  for (const name of names.toReversed()) {
    const document = await loadState(engine, { thread, ref: name, depth: 0 });
    if (document !== undefined) documents.push(document);
  }
  return documents;
}
