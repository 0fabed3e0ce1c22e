import type { LogChange } from '../../engine/batch.ts';
import type { Engine } from '../../engine/engine.ts';
import type { Transition } from './change-thread.ts';
import { dayOf, historyLog, infoLog } from '../names.ts';
import type { Found } from './read-thread.ts';
import type { ThreadId } from './thread-id.ts';
import { parseHistoryLine } from './thread-index.ts';

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
