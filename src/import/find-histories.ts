import type { Machine, Source } from './source/source.ts';

/** The history of one program on this machine. */
export interface FoundHistory {
  readonly source: Source;
  readonly place: string;
  readonly sessions: number;
  readonly bytes: number;
  /** Unix time in milliseconds of the newest file. */
  readonly newestMs: number;
}

/** Looks for histories where the programs keep them. Only names and sizes are read. */
export async function findHistories(
  sources: readonly Source[],
  machine: Machine,
): Promise<FoundHistory[]> {
  const found: FoundHistory[] = [];
  for (const source of sources) {
    for (const place of source.homes(machine)) {
      const history = await lookAt(source, place);
      if (history.sessions > 0) found.push(history);
    }
  }
  return found;
}

export async function lookAt(source: Source, place: string): Promise<FoundHistory> {
  const sessions = new Set<string>();
  let bytes = 0;
  let newestMs = 0;
  for await (const { session, size, modifiedMs } of source.discover(place)) {
    sessions.add(session);
    bytes += size;
    newestMs = Math.max(newestMs, modifiedMs);
  }
  await source.close?.();
  return { source, place, sessions: sessions.size, bytes, newestMs };
}
