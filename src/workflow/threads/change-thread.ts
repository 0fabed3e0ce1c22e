import type { Hash } from '../../base/brand.ts';
import { QuipuError, isQuipuError } from '../../base/errors.ts';
import type { Batch, BlobPut, LogChange } from '../../engine/batch.ts';
import { TRIES_MAX } from '../limits.ts';
import { dayOf, historyLog, indexDoc, infoLog, noteDoc } from '../names.ts';
import { findThread, readIndex, readNote } from './read-thread.ts';
import type { Found, Versioned } from './read-thread.ts';
import type { ThreadId } from './thread-id.ts';
import { formatIndex } from './thread-index.ts';
import type { HistoryLine, ThreadEntry, ThreadIndex } from './thread-index.ts';
import { formatNote } from './thread-note.ts';
import type { ThreadNote } from './thread-note.ts';
import type { WorkflowWorld } from '../workflow-world.ts';

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
export type Plan = (found: Found) => Promise<Transition | undefined>;

/** Changes a thread that exists. Other threads of the bundle may change meanwhile; then this tries again. */
export async function changeThread(world: WorkflowWorld, id: ThreadId, plan: Plan): Promise<void> {
  const { bundle } = (await readNote(world.engine, id)).value;
  await inTurn(world, bundle, async () => {
    const found = await findThread(world.engine, id);
    const transition = await plan(found);
    if (transition === undefined) return;
    await world.engine.commit(toBatch(id, { ...found, bundle }, transition));
  });
}

/** Makes a thread that nobody knows yet. */
export async function addThread(
  world: WorkflowWorld,
  id: ThreadId,
  { note, entry, puts = [] }: { note: ThreadNote; entry: ThreadEntry; puts?: readonly BlobPut[] },
): Promise<void> {
  await inTurn(world, note.bundle, async () => {
    const index = await readIndex(world.engine, note.bundle);
    // The id is new in the world: an entry under it comes from this very call, whose answer was lost.
    if (index.value.has(id)) return;
    const from = { index, note: { version: 0 }, bundle: note.bundle };
    await world.engine.commit(toBatch(id, from, { note, entry, puts }));
  });
}

async function inTurn(
  world: WorkflowWorld,
  bundle: Hash,
  attempt: () => Promise<void>,
): Promise<void> {
  await world.changes.run(bundle, async () => {
    for (let tries = 1; ; tries += 1) {
      try {
        await attempt();
        return;
      } catch (error) {
        if (!isCollision(error) || tries === TRIES_MAX) throw error;
      }
    }
  });
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
  const noted = change.note;
  return {
    blobs: change.puts ?? [],
    logs,
    docs: [
      {
        name: indexDoc(bundle),
        content: formatIndex(threads),
        expectedVersion: index.version,
        publish: true,
      },
      ...(noted === undefined
        ? []
        : [
            {
              name: noteDoc(id),
              content: noted === null ? undefined : formatNote(noted),
              expectedVersion: note.version,
            },
          ]),
    ],
  };
}

/** The error for the runner of a thread and the caller of `step` when someone else was faster. */
export function headMoved(id: ThreadId, expected: Hash, head: Hash): QuipuError<'HEAD_MOVED'> {
  const message = `thread ${id} is at ${head}, not at ${expected}; read it and try again`;
  return new QuipuError('HEAD_MOVED', message, { context: id, expected, head });
}
