import { setTimeout } from 'node:timers/promises';
import { watch, type FSWatcher } from 'node:fs';
import { given } from '../base/given.ts';
import { Bell } from '../base/bell.ts';
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
  const importer = new Importer({
    store,
    source,
    ledger,
    report,
    dryRun,
    ...given({ project, signal }),
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

export interface FollowHistoryOptions {
  readonly place: string;
  /** Ends the following. What was read until then is stored. */
  readonly signal: AbortSignal;
  /** The time to wait for an event of the file system before looking anyway. Default 2 s. */
  readonly pollMs?: number;
  /** The time that a file must be quiet until its last message counts as complete. Default 2 s. */
  readonly quietMs?: number;
  /** Called after each look, with the sums since the beginning. */
  readonly onLook?: (report: ImportReport) => void;
}

const POLL_MS = 2000;
const QUIET_MS = 2000;
/** Events come in bursts: a look takes all of them. */
const BURST_MS = 50;

/**
 * Keeps the store current while a program writes its history, until the signal aborts. Files are looked at when the
 * file system tells of a change, and every few seconds where it does not.
 */
export async function followHistory(
  store: Store,
  source: Source,
  options: FollowHistoryOptions,
): Promise<ImportReport> {
  const { place, signal, pollMs = POLL_MS, quietMs = QUIET_MS, onLook } = options;
  const report = newReport(source.name);
  const ledger = await Ledger.open(store, source, false);
  const importer = new Importer({ store, source, ledger, report, dryRun: false });
  const seen = new Map<string, SeenFile>();
  const changed = new Bell();
  using _watching = ringOnChange(place, changed);
  while (!signal.aborted) {
    try {
      for await (const file of source.discover(place)) {
        const before = seen.get(file.path);
        const next = look(before, file, Date.now(), quietMs);
        seen.set(file.path, next.seen);
        if (next.read) await importer.importFile(file, next.seen.isOpen);
        if (signal.aborted) break;
      }
    } finally {
      await importer.drain();
      await source.close?.();
    }
    onLook?.(report);
    try {
      await changed.wait(pollMs, signal);
      await setTimeout(BURST_MS, undefined, { signal });
    } catch {
      // The caller ends the following.
    }
  }
  return report;
}

/** A file as it was at the last look. */
interface SeenFile {
  readonly size: number;
  readonly modifiedMs: number;
  /** Its last message may still go on. */
  readonly isOpen: boolean;
  readonly changedAt: number;
}

/** Whether to read a file now: when it has changed, and once more when it has been quiet. */
function look(
  before: SeenFile | undefined,
  { size, modifiedMs }: SourceFile,
  now: number,
  quietMs: number,
): { readonly seen: SeenFile; readonly read: boolean } {
  const isSame = before?.size === size && before.modifiedMs === modifiedMs;
  const changedAt = isSame
    ? before.changedAt
    : Math.min(now, before === undefined ? modifiedMs : now);
  const isOpen = now - changedAt < quietMs;
  return {
    seen: { size, modifiedMs, isOpen, changedAt },
    read: !isSame || (before.isOpen && !isOpen),
  };
}

/** Rings at changes below a folder, where the file system tells of them. */
function ringOnChange(place: string, changed: Bell): Disposable {
  let watcher: FSWatcher | undefined;
  try {
    watcher = watch(place, { recursive: true });
    watcher.on('change', () => changed.ring());
    // A watcher that fails is as good as none: there is the poll.
    watcher.on('error', () => undefined);
  } catch {
    // There is nothing to watch.
  }
  return { [Symbol.dispose]: () => watcher?.close() };
}
