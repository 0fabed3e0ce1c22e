import { resolve } from 'node:path';
import { ulid } from 'ulid';
import { invalid, notFound } from '../../base/errors.ts';
import { encodeFormatFile } from '../../format/format-file.ts';
import type { Io } from '../io.ts';
import { NOTE_FILE, UNFINISHED_FILE } from './backup/backup-note.ts';
import { createFiles } from './core/create-files.ts';
import { closeAll, syncFolder } from './disk/file-handles.ts';
import { corrupt, toQuipuError } from './disk/io-error.ts';
import { nodeIo } from './disk/node-io.ts';
import { LOCK_FILE } from './disk/owner-lock.ts';
import { OWNER_FILE, describeOwner } from './disk/owner-note.ts';
import { StoreFiles } from './disk/store-files.ts';
import { makeFolder } from './disk/folders.ts';
import { type FilesEngine, filesEngine } from './files-engine.ts';
import type { ShelfSource } from './index/shelf.ts';
import { sqliteShelves } from './index/sqlite-shelves.ts';
import { INDEX_FILE } from './index/store-index.ts';
import { FORMAT_FILE, FROM_BACKUP, findCheckpoint } from './journal/checkpoint-file.ts';
import { openWriter } from './open-writer.ts';
import { listPacks, PACKS_FOLDER } from './packs/pack-file.ts';
import { headerOf, OWN_FILES } from './core/truths.ts';

export interface FilesEngineOptions {
  /** True to make a store where there is none. Default true. */
  readonly create?: boolean;
  /** `unsafe` acknowledges before the disk does: a power cut can take the last commits. */
  readonly durability?: 'safe' | 'unsafe';
  /** Memory limit for cached turns, heads and payloads. Default 64 MiB. */
  readonly cacheBytes?: number;
  readonly clock?: () => number;
  /** True when a process that finds the folder locked may wait for an answer on a socket. Default false. */
  readonly shares?: boolean;
  /** Size at which the journal changes segments. Default 16 MiB. */
  readonly segmentBytes?: number;
  /** The longest time between a commit and its checkpoint. Default 5 s. */
  readonly checkpointMs?: number;
  /** Disk space kept for work that makes room on a full disk. 0: none. Default 4 MiB. */
  readonly reserveBytes?: number;
  /** The disk and the index. Tests pass their own. */
  readonly io?: Io;
  readonly shelves?: ShelfSource;
}

const SEGMENT_BYTES = 16 * 1024 * 1024;
const GROW_BYTES = 1024 * 1024;
/** As much as a group of commits may add: a group may be what waits for room to be written. */
const RESERVE_BYTES = 4 * 1024 * 1024;

/** Opens the store in folder `dir`, and owns it until it is closed. */
export async function openFilesEngine(
  dir: string,
  options: FilesEngineOptions = {},
): Promise<FilesEngine> {
  const { io = nodeIo, create = true, durability = 'safe', segmentBytes = SEGMENT_BYTES } = options;
  const owner = describeOwner({ durability, shares: options.shares ?? false });
  const root = resolve(dir);
  const files = new StoreFiles(io, root);
  try {
    // The path is checked before anything is touched: a wrong path must be left as it is.
    const found = await findStore(files);
    if (found !== 'store' && !create) {
      throw notFound('store', root, `there is no store at ${root}; create one with "quipu init"`);
    }
    if (found !== 'store') await makeFolder(io, root);
    const lock = await io.lock(files.pathOf(LOCK_FILE), owner);
    try {
      if (found !== 'store') {
        const createdAt = new Date().toISOString();
        await createFiles(files, { store: ulid(), createdAt, durability });
      }
      // The process that made the store may have died before its name was durable.
      await syncFolder(io, root);
      const writer = await openWriter({
        files,
        lock,
        durability,
        journal: {
          segmentBytes,
          growBytes: Math.min(GROW_BYTES, segmentBytes),
          sync: durability === 'safe',
        },
        shelves: options.shelves ?? sqliteShelves(files.pathOf(INDEX_FILE)),
        cacheBytes: options.cacheBytes ?? 64 * 1024 * 1024,
        clock: options.clock ?? Date.now,
        checkpointMs: options.checkpointMs ?? 5000,
        reserveBytes: options.reserveBytes ?? RESERVE_BYTES,
      });
      return filesEngine(writer);
    } catch (error) {
      await closeAll([() => files.close(), () => lock.release()]).catch(() => undefined);
      throw error;
    }
  } catch (error) {
    throw toQuipuError(error, root);
  }
}

/** `unfinished`: a store was begun here, and its creation did not end. */
async function findStore(files: StoreFiles): Promise<'store' | 'missing' | 'empty' | 'unfinished'> {
  const stat = await files.io.stat(files.root);
  if (stat === undefined) return 'missing';
  if (stat.kind !== 'folder')
    throw invalid('store', `must be a folder, and ${files.root} is a file`);
  const names = await files.io.list(files.root);
  if (names.includes(FORMAT_FILE)) return 'store';
  if (names.length === 0) return 'empty';
  if (await holdsData(files, names)) throw await missingFormat(files, names);
  const ours = new Set([
    'journal',
    'blobs',
    'turns',
    'docs',
    'extents',
    LOCK_FILE,
    OWNER_FILE,
    `${FORMAT_FILE}.new`,
    `${FORMAT_FILE}~new`,
  ]);
  if (!names.every((name) => ours.has(name) || name.startsWith(`${LOCK_FILE}-`))) {
    throw invalid(
      'store',
      `must be an empty folder or a store, and ${files.root} has other files in it`,
    );
  }
  return 'unfinished';
}

/** FORMAT is written last, so a store that holds data and lacks FORMAT has lost it. */
async function holdsData(files: StoreFiles, names: readonly string[]): Promise<boolean> {
  if (names.includes(PACKS_FOLDER) && (await listPacks(files)).length > 0) return true;
  for (const { name, header } of OWN_FILES) {
    if (header !== undefined && (await files.size(name)) > headerOf(header).length) return true;
  }
  return false;
}

/** The error tells the line and does not restore it: an unfinished backup or restore lacks it on purpose. */
async function missingFormat(files: StoreFiles, names: readonly string[]): Promise<Error> {
  const what = 'the file is missing from a store that holds data';
  if (names.includes(NOTE_FILE) || names.includes(UNFINISHED_FILE)) {
    return invalid('store', `must be whole, and what was copied to ${files.root} did not finish`);
  }
  const said = (await findCheckpoint(files))?.body.store;
  if (said === undefined) return corrupt(FORMAT_FILE, 0, what, FROM_BACKUP);
  const line = Buffer.from(encodeFormatFile(said)).toString().trimEnd();
  const advice = `put it back as a file of this one line, with a line feed behind it: ${line}`;
  return corrupt(FORMAT_FILE, 0, what, advice);
}
