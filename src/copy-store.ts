import { existsSync } from 'node:fs';
import { isAbsolute, join, relative, resolve } from 'node:path';
import { invalid, unsupported } from './base/errors.ts';
import { parsePlace } from './base/place.ts';
import { eachName } from './engine/names.ts';
import type { Engine } from './engine/engine.ts';
import { openFilesEngine } from './engine/files/open-files-engine.ts';
import type { Progress } from './engine/progress.ts';
import { copyEngine, type CopyCounts } from './maintain/copy/copy-engine.ts';
import {
  compareBeginnings,
  assertSound,
  copyQueues,
  type QueueCounts,
} from './maintain/copy/copy-queues.ts';
import type { QueuePair } from './maintain/copy/pair.ts';
import type { QueueRecords } from './queue/upkeep/queue-records.ts';
import { openDatabaseParts } from './store/kept-store.ts';

/** A part of the store that a copy leaves out, and why. */
export interface LeftOut {
  readonly what: string;
  readonly count: number;
  readonly why: string;
}

export interface CopyOptions {
  readonly progress?: Progress;
  /** Ends the copy between two steps. The same call continues from there. */
  readonly signal?: AbortSignal;
  /** Called before anything is written. */
  readonly onLeftOut?: (leftOut: readonly LeftOut[]) => void;
}

export interface CopyReport extends CopyCounts, QueueCounts {
  readonly leftOut: readonly LeftOut[];
}

interface Place {
  readonly engine: Engine;
  readonly queues: QueueRecords;
  /** The folder, if the store is a folder of this machine. */
  readonly folder?: string;
}

/**
 * Makes `to` a copy of `from`: ids, numbers, times, versions and bytes. Each is a folder or a database. A copy that was
 * cut off continues when it is called again. At the end both are compared, and all bytes of the copy were read.
 */
export async function copyStore(
  from: string,
  to: string,
  options: CopyOptions = {},
): Promise<CopyReport> {
  const folders = { from: toFolder('from', from), to: toFolder('to', to) };
  assertApart(from, to, folders);
  const source = await openPlace(from, folders.from, false);
  try {
    const target = await openPlace(to, folders.to, true);
    try {
      return await copy(source, target, options);
    } finally {
      await close(target);
    }
  } finally {
    await close(source);
  }
}

async function close({ engine, queues }: Place): Promise<void> {
  queues.close();
  await engine.close();
}

async function copy(source: Place, target: Place, options: CopyOptions): Promise<CopyReport> {
  const leftOut = await findLeftOut(source);
  const { progress = () => undefined, signal } = options;
  const pause = (): void => signal?.throwIfAborted();
  const queuePair: QueuePair = { from: source.queues, to: target.queues, progress, pause };
  await assertSound(source.queues, 'the source');
  await compareBeginnings(queuePair);
  if (leftOut.length > 0) options.onLeftOut?.(leftOut);
  const counts = await copyEngine(source.engine, target.engine, options);
  const queueCounts = await copyQueues(queuePair);
  return { ...counts, ...queueCounts, leftOut };
}

/** Undefined for a database. */
function toFolder(what: string, place: string): string | undefined {
  if (typeof place !== 'string' || place === '') {
    throw invalid(what, 'must name a store: a folder, or postgres://…');
  }
  const parsed = parsePlace(place);
  if (parsed.kind === 'server') {
    throw unsupported(
      'copy',
      'the address of a server',
      `${what} is a server, and a store is copied where its data is: stop the server, and give the folder or database that it serves`,
    );
  }
  if (parsed.kind === 'unknown') {
    const found = `${parsed.scheme}://`;
    const message = `${found} is no address of a store; give a path such as "./.quipu", or postgres://…`;
    throw unsupported('store address', found, message);
  }
  return parsed.kind === 'folder' ? resolve(parsed.path) : undefined;
}

function assertApart(
  from: string,
  to: string,
  folders: { readonly from: string | undefined; readonly to: string | undefined },
): void {
  if (folders.from === undefined || folders.to === undefined) {
    if (from === to) throw invalid('to', 'is the store that is copied');
    return;
  }
  if (isWithin(folders.from, folders.to))
    throw invalid('to', 'lies within the store that is copied');
  if (isWithin(folders.to, folders.from))
    throw invalid('from', 'lies within the folder of the copy');
}

function isWithin(outer: string, inner: string): boolean {
  const path = relative(outer, inner);
  return path === '' || (!path.startsWith('..') && !isAbsolute(path));
}

/**
 * Opens a folder alone: another process that has it open would write to it. A database is open to others, and is
 * compared in the end.
 */
async function openPlace(
  place: string,
  folder: string | undefined,
  create: boolean,
): Promise<Place> {
  if (folder !== undefined) {
    const { FolderRecords } = await import('./queue/upkeep/folder-records.ts');
    const engine = await openFilesEngine(folder, { create });
    return { engine, folder, queues: new FolderRecords(join(folder, 'queues')) };
  }
  const { PostgresRecords } = await import('./queue/postgres/postgres-records.ts');
  const { engine } = await openDatabaseParts(place, { create });
  return { engine, queues: new PostgresRecords(engine.database) };
}

async function findLeftOut({ engine, folder }: Place): Promise<LeftOut[]> {
  const leftOut: LeftOut[] = [];
  const sessions = await countSessions(engine);
  if (sessions > 0) {
    const why =
      'their files stay where they are, and the copy leads there; move them with "quipu session move"';
    leftOut.push({ what: 'session files', count: sessions, why });
  }
  if (folder !== undefined && existsSync(join(folder, 'tokens.json'))) {
    const why =
      'who may use a server is said for each server; make new ones with "quipu token create"';
    leftOut.push({ what: 'tokens', count: 1, why });
  }
  return leftOut;
}

async function countSessions(engine: Engine): Promise<number> {
  const { SESSIONS_PREFIX } = await import('./session/records/session-refs.ts');
  const names = eachName((limit, after) => engine.listDocs(SESSIONS_PREFIX, limit, after));
  let count = 0;
  for await (const _ of names) count += 1;
  return count;
}
