import type { Change } from '../../batch.ts';
import type { Writer } from '../commit/writer.ts';

/** The changes that commits made in place during the copy. */
export interface SeenChanges {
  readonly contexts: ReadonlySet<number>;
  /** Open turns that grew, which shows in the slots of their contexts. */
  readonly grown: ReadonlySet<number>;
  readonly logs: ReadonlySet<string>;
  /** Names that were removed at some time. There may be a new one of that name. */
  readonly removedLogs: ReadonlySet<string>;
  stop(): void;
}

export function watchChanges(writer: Writer): SeenChanges {
  const contexts = new Set<number>();
  const grown = new Set<number>();
  const logs = new Set<string>();
  const removedLogs = new Set<string>();
  const stop = writer.listeners.add((change: Change) => {
    for (const { id } of change.heads) contexts.add(Number(id));
    for (const id of change.removedContexts) contexts.add(Number(id));
    for (const { turn } of change.deltas) grown.add(Number(turn));
    for (const { name } of change.logs) logs.add(name);
    for (const name of change.removedLogs) {
      logs.add(name);
      removedLogs.add(name);
    }
  });
  return { contexts, grown, logs, removedLogs, stop };
}
