import { invalid } from '../base/errors.ts';
import type { Store } from '../store/store.ts';
import { newReport, type ImportReport } from './keep/import-report.ts';
import { Importer } from './importer.ts';
import { Ledger } from './keep/ledger.ts';
import type { Machine, Source, SourceFile } from './source/source.ts';

export interface ImportOptions {
  /** A home of the program, or one file. */
  readonly place: string;
  /** Only files that were changed at this time or later, in Unix milliseconds. */
  readonly since?: number;
  /** Only sessions about this folder, or one below it. */
  readonly project?: string;
  /** Counts, and writes nothing. */
  readonly dryRun?: boolean;
  readonly signal?: AbortSignal;
  /** Called with bytes read so far, and the bytes of all files. */
  readonly progress?: (done: number, total: number, what: string) => void;
}

/**
 * Imports the history that a program keeps at a place. Run again, it adds what is new. An import that was interrupted
 * goes on where it was. The source is only read.
 */
export async function importHistory(
  store: Store,
  source: Source,
  options: ImportOptions,
): Promise<ImportReport> {
  const { place, since = 0, dryRun = false, project, signal, progress } = options;
  if (typeof place !== 'string' || place === '')
    throw invalid('place', 'must be the path of a folder or file');
  const files: SourceFile[] = [];
  for await (const file of source.discover(place)) {
    signal?.throwIfAborted();
    if (file.modifiedMs >= since) files.push(file);
  }
  const total = files.reduce((sum, { size }) => sum + size, 0);
  const report = newReport(source.name);
  const before = await bytesOf(store);
  const ledger = await Ledger.open(store, source, dryRun);
  let done = 0;
  const importer = new Importer({ store, source, ledger }, report, {
    dryRun,
    ...(project !== undefined && { project }),
    ...(signal !== undefined && { signal }),
    onBytes: (bytes) => {
      done += bytes;
      progress?.(done, total, source.title);
    },
  });
  try {
    for (const file of files) {
      signal?.throwIfAborted();
      await importer.importFile(file);
    }
  } finally {
    await importer.drain();
    await source.close?.();
  }
  report.bytesStored = dryRun ? 0 : (await bytesOf(store)) - before;
  return report;
}

/** The record of a turn: docs/format/turns.md. */
const TURN_BYTES = 128;

async function bytesOf(store: Store): Promise<number> {
  const { storedBytes, turns } = await store.maintain.stats();
  return storedBytes + turns * TURN_BYTES;
}

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
