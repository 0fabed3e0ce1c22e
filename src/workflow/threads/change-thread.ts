import type { Hash } from '../../base/brand.ts';
import { QuipuError, isQuipuError } from '../../base/errors.ts';
import type { Batch, BlobPut, DocChange, LogChange } from '../../engine/batch.ts';
import type { Engine } from '../../engine/engine.ts';
import { dayOf, historyLog, indexDoc, infoLog, noteDoc } from '../home/documents.ts';
import { untilFirst } from '../../base/retry.ts';
import type { ThreadId, WorkflowsHome } from '../home/workflows-home.ts';
import { encodeNode, encodeText, type StartNode } from '../home/nodes.ts';
import {
  findThread,
  formatIndex,
  parseHistoryLine,
  readIndex,
  readNote,
  type Found,
  type HistoryLine,
  type ThreadIndex,
  type ThreadNote,
  type Versioned,
} from './thread-docs.ts';
import type { Thread, ThreadEntry } from './workflows.ts';

/** The changes of a transition, all of them in one commit. */
export interface Transition {
  readonly puts?: readonly BlobPut[];
  /** The thread's entry from now on; undefined: the thread is not under way any more. */
  readonly entry: ThreadEntry | undefined;
  /** Present only when the note changes; `null` removes it. */
  readonly note?: ThreadNote | null;
  /** The history line of a thread that ends. */
  readonly history?: HistoryLine;
  readonly logs?: readonly LogChange[];
  /** Debug lines, JSON texts. */
  readonly info?: readonly string[];
}

/**
 * Plans a change from the stored state, or finds that it is done already (undefined). A commit whose answer was lost is
 * planned again, and must not happen twice. So draw values from a clock or from chance before the plan runs.
 */
type Plan = (found: Found) => Promise<Transition | undefined>;

/** Changes a thread that exists. Other threads of the bundle may change meanwhile; then this tries again. */
export async function changeThread(home: WorkflowsHome, id: ThreadId, plan: Plan): Promise<void> {
  const { bundle } = (await readNote(home.engine, id)).value;
  await inTurn(home, bundle, async () => {
    const found = await findThread(home.engine, id);
    const transition = await plan(found);
    if (transition === undefined) return;
    await home.engine.commit(toBatch(id, { ...found, bundle }, transition));
  });
}

/** Makes a thread that nobody knows yet. */
export async function addThread(
  home: WorkflowsHome,
  id: ThreadId,
  { note, entry, puts = [] }: { note: ThreadNote; entry: ThreadEntry; puts?: readonly BlobPut[] },
): Promise<void> {
  await inTurn(home, note.bundle, async () => {
    const index = await readIndex(home.engine, note.bundle);
    // The id is new in the world: an entry under it comes from this very call, whose answer was lost.
    if (index.value.has(id)) return;
    const from = { index, note: { version: 0 }, bundle: note.bundle };
    await home.engine.commit(toBatch(id, from, { note, entry, puts }));
  });
}

async function inTurn(
  home: WorkflowsHome,
  bundle: Hash,
  attempt: () => Promise<void>,
): Promise<void> {
  await home.changes.run(bundle, () => untilFirst(attempt, { isLost: isCollision }));
}

/** Another process changed a document between its reading and the commit. */
function isCollision(error: unknown): boolean {
  return isQuipuError(error, 'HEAD_MOVED') && error.data.context.startsWith('workflows/');
}

interface From {
  readonly index: Versioned<ThreadIndex>;
  readonly note: { readonly version: number };
  readonly bundle: Hash;
}

function toBatch(id: ThreadId, { index, note, bundle }: From, change: Transition): Batch {
  const threads = new Map(index.value);
  if (change.entry === undefined) threads.delete(id);
  else threads.set(id, change.entry);
  const { history, info = [] } = change;
  const logs: LogChange[] = [...(change.logs ?? [])];
  if (history !== undefined) {
    const name = historyLog(bundle, dayOf(history.completedAt));
    logs.push({ do: 'append', name, lines: [JSON.stringify(history)] });
  }
  if (info.length > 0) logs.push({ do: 'append', name: infoLog(bundle, id), lines: info });
  const content = formatIndex(threads);
  const expectedVersion = index.version;
  const docs: DocChange[] = [{ name: indexDoc(bundle), content, expectedVersion, publish: true }];
  if (change.note !== undefined) {
    const noted = change.note === null ? undefined : JSON.stringify(change.note);
    docs.push({ name: noteDoc(id), content: noted, expectedVersion: note.version });
  }
  return { blobs: change.puts ?? [], logs, docs };
}

/** The error for the runner of a thread and the caller of `step` when someone else was faster. */
export function headMoved(id: ThreadId, expected: Hash, head: Hash): QuipuError<'HEAD_MOVED'> {
  const message = `thread ${id} is at ${head}, not at ${expected}; read it and try again`;
  return new QuipuError('HEAD_MOVED', message, { context: id, expected, head });
}

interface StartRequest {
  readonly id: ThreadId;
  readonly payload: StartNode['payload'];
  readonly prompt: string;
}

/** Trusts its input. Writes prompt, start node, entry and note in one commit. */
export async function startThread(
  home: WorkflowsHome,
  { id, payload, prompt }: StartRequest,
): Promise<Thread> {
  const text = encodeText(prompt);
  const start = encodeNode({ type: 'start', payload, refs: [text.hash] });
  const bundle: Hash = payload.hash;
  const entry = { head: start.hash, start: start.hash, updatedAt: home.clock() };
  await addThread(home, id, { note: { bundle }, entry, puts: [text, start] });
  return { id, bundle, state: 'active', ...entry };
}

const LINES_AT_ONCE = 1000;

/** Takes a thread out of the index or out of its day's history; its nodes stay until a garbage collection. */
export async function planRemoval(
  engine: Engine,
  id: ThreadId,
  { note: { value: note } }: Found,
): Promise<Transition> {
  const logs: LogChange[] = [{ do: 'remove', name: infoLog(note.bundle, id) }];
  if (note.completedAt !== undefined) {
    logs.push(...(await withoutLine(engine, historyLog(note.bundle, dayOf(note.completedAt)), id)));
  }
  return { entry: undefined, note: null, logs };
}

/** Writes the day's log without one thread: the whole log anew, if nobody has added to it since. */
async function withoutLine(engine: Engine, name: string, id: ThreadId): Promise<LogChange[]> {
  const lines: string[] = [];
  for (;;) {
    const more = await engine.readLog(name, lines.length, LINES_AT_ONCE);
    lines.push(...more);
    if (more.length < LINES_AT_ONCE) break;
  }
  const kept = lines.filter((line) => parseHistoryLine(name, line).threadId !== id);
  return [
    { do: 'append', name, lines: [], expectedLines: lines.length },
    { do: 'remove', name },
    { do: 'append', name, lines: kept },
  ];
}
