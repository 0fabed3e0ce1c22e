import { resolve } from 'node:path';
import { invalid, notFound } from '../../base/errors.ts';
import { NOTE_FILE, UNFINISHED_FILE } from './backup/backup-note.ts';
import { Writer } from './commit/writer.ts';
import { Core } from './core/core.ts';
import {
  assertKinds,
  createFiles,
  fileLengths,
  FOLDERS,
  headerOf,
  makeMissing,
  OWN_FILES,
  replayWrite,
} from './core/truths.ts';
import { IndexKeeper } from './core/index-keeper.ts';
import { cutToTails, type Replayed, replayJournal, startOf } from './core/replay.ts';
import { closeAll, syncFolder } from './disk/file-handles.ts';
import { makeFolder } from './disk/folders.ts';
import { corrupt, ifRoom, toQuipuError, unlessCorrupt } from './disk/io-error.ts';
import { nodeIo } from './disk/node-io.ts';
import { LOCK_FILE } from './disk/owner-lock.ts';
import { describeOwner, OWNER_FILE } from './disk/owner-note.ts';
import { StoreFiles } from './disk/store-files.ts';
import { type FilesEngine, filesEngine } from './files-engine.ts';
import type { ShelfSource } from './index/shelf.ts';
import { sqliteShelves } from './index/sqlite-shelf.ts';
import { INDEX_FILE } from './index/store-index.ts';
import {
  type Checkpoint,
  findCheckpoint,
  FORMAT_FILE,
  FROM_BACKUP,
  mustFindCheckpoint,
  readFormat,
  secureCheckpoint,
  writeCheckpoint,
} from './journal/checkpoint-file.ts';
import {
  Journal,
  leaveMark,
  MARK_FILE,
  readJournal,
  secureLastFrame,
  SEGMENTS,
} from './journal/journal.ts';
import { Reserve } from './journal/reserve.ts';
import { findAbandoned, sealAbandoned } from './open-turns/open-turns.ts';
import { ErasedBlobs } from './packs/erased-blobs.ts';
import { listPacks, PACKS_FOLDER, removeUnnamed } from './packs/pack-file.ts';
import { readCollected, TypeTable, withCollected } from './turns/turn-table.ts';
import type { Io, IoFile, IoLock } from '../io.ts';
import { encodeFormatFile } from '../../format/format-file.ts';
import { decodeMark, MARK_BYTES } from '../../format/journal-frame.ts';
import { NOTHING_COLLECTED } from '../../format/turn-record.ts';
import { ulid } from 'ulid';

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
const CACHE_BYTES = 64 * 1024 * 1024;
/** As much as a group of commits may add: a group may be what waits for room to be written. */
const RESERVE_BYTES = 4 * 1024 * 1024;

/** Opens the store in folder `dir`, and owns it until it is closed. */
export async function openFilesEngine(
  dir: string,
  options: FilesEngineOptions = {},
): Promise<FilesEngine> {
  const { io = nodeIo, create = true, durability = 'safe' } = options;
  const owner = describeOwner({ durability, shares: options.shares ?? false });
  const root = resolve(dir);
  const files = new StoreFiles(io, root);
  try {
    // The path is checked before anything is touched: a wrong path must be left as it is.
    const isThere = await isStore(files);
    if (!isThere && !create) {
      throw notFound('store', root, `there is no store at ${root}; create one with "quipu init"`);
    }
    if (!isThere) await makeFolder(io, root);
    const lock = await io.lock(files.pathOf(LOCK_FILE), owner);
    try {
      if (!isThere) {
        const createdAt = new Date().toISOString();
        await createFiles(files, { store: ulid(), createdAt, durability });
      }
      // The process that made the store may have died before its name was durable.
      await syncFolder(io, root);
      return filesEngine(await openWriter(files, lock, options));
    } catch (error) {
      await closeAll([() => files.close(), () => lock.release()]).catch(() => undefined);
      throw error;
    }
  } catch (error) {
    throw toQuipuError(error, root);
  }
}

/** False where a store can be made: in an empty folder, or one in which the creation of a store did not end. */
async function isStore(files: StoreFiles): Promise<boolean> {
  const stat = await files.io.stat(files.root);
  if (stat === undefined) return false;
  if (stat.kind !== 'folder')
    throw invalid('store', `must be a folder, and ${files.root} is a file`);
  const names = await files.io.list(files.root);
  if (names.includes(FORMAT_FILE)) return true;
  if (await holdsData(files, names)) throw await missingFormat(files, names);
  const begun = [LOCK_FILE, OWNER_FILE, `${FORMAT_FILE}.new`, `${FORMAT_FILE}~new`];
  const ours = new Set([...FOLDERS, ...begun]);
  if (!names.every((name) => ours.has(name) || name.startsWith(`${LOCK_FILE}-`))) {
    throw invalid(
      'store',
      `must be an empty folder or a store, and ${files.root} has other files in it`,
    );
  }
  return false;
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

/**
 * Turns files on the disk into a store that takes commits. Each step trusts the ones before it, so the order is
 * fixed: replay the journal, make the result durable, load what must be in memory, bring the index up to date, end
 * the turns that a crash left open. A store on a full disk is opened all the same: work that needs room is done
 * before the first commit.
 */
export async function openWriter(
  files: StoreFiles,
  lock: IoLock,
  options: FilesEngineOptions,
): Promise<Writer> {
  const { durability = 'safe', segmentBytes = SEGMENT_BYTES, cacheBytes = CACHE_BYTES } = options;
  const { clock = Date.now, checkpointMs = 5000, reserveBytes = RESERVE_BYTES } = options;
  files.format = await readFormat(files);
  await makeMissing(files);
  const opening = await replay(files);
  const { before, replayed } = opening;
  if (before.body.durability === 'unsafe') await cutToTails(files, fileLengths(replayed.tails));
  await assertKinds(files);
  const { tails, seq } = replayed;
  const types = await TypeTable.load(files, tails.typesBytes);
  const place = before.body.journal;
  const core = new Core({ files, types, tails, seq, place, cacheBytes });
  await findAbandoned(core);
  // Without the map, collected turns can be seen again, until the next collection takes them again.
  core.collected = (await unlessCorrupt(() => readCollected(files))) ?? NOTHING_COLLECTED;
  core.tails = withCollected(core.tails, core.collected);
  core.erased = await ErasedBlobs.load(files);

  const keeper = new IndexKeeper(core, options.shelves ?? sqliteShelves(files.pathOf(INDEX_FILE)));
  const opened: { close(): Promise<void> | void }[] = [keeper];
  try {
    await catchUpIndex(core, keeper, opening);
    const settled = await ifRoom(() => settle(opening, core, durability));
    await removeOrphanPacks(files, replayed.tails.nextPack);

    const checkpoint = settled ?? before;
    core.seq = replayed.seq;
    core.place = checkpoint.body.journal;
    const growBytes = Math.min(GROW_BYTES, segmentBytes);
    const sizes = { segmentBytes, growBytes, sync: durability === 'safe' };
    const journal = await Journal.open(files, sizes, core.place);
    opened.push(journal);
    const mark = await openMark(files, replayed.seq);
    opened.push(mark);
    const writer: Writer = new Writer({
      lock,
      durability,
      clock,
      checkpointMs,
      core,
      journal,
      mark,
      keeper,
      checkpoint,
      reserve: new Reserve(files, reserveBytes),
      settle: settled === undefined ? () => settle(opening, core, durability) : undefined,
      onSettled: () => sealAbandoned(writer),
    });
    if (settled === undefined) return writer;
    await ifRoom(async () => {
      if (checkpoint.body.scrub) await writer.scrubJournal();
      await sealAbandoned(writer);
    });
    return writer;
  } catch (error) {
    await closeAll(opened.map((held) => () => held.close())).catch(() => undefined);
    throw error;
  }
}

/** A mark that a power cut tore says nothing. Its right value is known by now. */
async function openMark(files: StoreFiles, seq: number): Promise<IoFile> {
  const found = await files.read(MARK_FILE, 0, MARK_BYTES);
  const mark = await files.io.open(files.pathOf(MARK_FILE), 'write');
  if (found.length > 0 && decodeMark(found) === undefined) await leaveMark(mark, seq);
  return mark;
}

interface Opening {
  readonly before: Checkpoint;
  readonly replayed: Replayed;
  /** True when not everything could be made durable: `secure` must do that before the journal may go. */
  readonly isFull: boolean;
  readonly secure: () => Promise<void>;
}

async function replay(files: StoreFiles): Promise<Opening> {
  const before = await mustFindCheckpoint(files);
  let isFull = false;
  const onFull = (): void => void (isFull = true);
  await ifRoom(() => secureCheckpoint(files, before), onFull);
  const replayed = await replayJournal(files, before, onFull);
  const secure = async (): Promise<void> => {
    await secureCheckpoint(files, before);
    if (before.body.durability === 'safe') await secureLastFrame(files, startOf(before));
    await files.catchUp();
  };
  return { before, replayed, isFull, secure };
}

/** Makes replayed data durable before anything is built on it, and starts the journal anew. */
async function settle(
  { before, replayed, isFull, secure }: Opening,
  core: Core,
  durability: 'safe' | 'unsafe',
): Promise<Checkpoint> {
  const { files } = core;
  const { seq, tails, any, erased } = replayed;
  if (isFull || files.behind) await secure();
  if (!any) return before;
  await files.syncAll();
  await core.index.sync();
  const journal = { segment: 0, position: 0 } as const;
  const { ages } = before.body;
  const scrub = before.body.scrub || erased;
  const body = { clean: false, durability, journal, tails, ages, scrub };
  const checkpoint = { generation: before.generation + 1, seq, body };
  await writeCheckpoint(files, checkpoint);
  return checkpoint;
}

/**
 * The index takes in the frames that it has not seen. It is rebuilt when it cannot know what it missed. Meanwhile
 * `core.seq` is the frame that the index has got to: it must never claim one that it has not taken in.
 */
async function catchUpIndex(
  core: Core,
  keeper: IndexKeeper,
  { before, replayed }: Opening,
): Promise<void> {
  const { files } = core;
  const covered = keeper.coveredSeq;
  if (covered !== undefined && covered > replayed.seq && before.body.durability === 'safe') {
    throw corrupt(
      SEGMENTS[0],
      0,
      `frame ${covered} was durable once, and the journal ends at ${replayed.seq}`,
    );
  }
  if (covered === undefined || covered < before.seq || covered > replayed.seq) {
    await keeper.renew();
    return;
  }
  if (covered === replayed.seq) return;
  core.seq = covered;
  try {
    await readJournal(files, startOf(before), async (frame, writes) => {
      if (frame <= covered) return;
      for (const write of writes) await replayWrite({ files, index: core.index }, write);
      core.seq = frame;
      core.index.maybeFlush();
    });
    core.index.flush(true);
  } catch (error) {
    core.seq = replayed.seq;
    if (!(await keeper.mend(error))) throw error;
  }
}

/** Bulk packs begun after the last frame. No frame names them, so nothing in them counts. */
async function removeOrphanPacks(files: StoreFiles, nextPack: number): Promise<void> {
  for (const number of await listPacks(files)) {
    if (number >= nextPack) await removeUnnamed(files, number);
  }
}
