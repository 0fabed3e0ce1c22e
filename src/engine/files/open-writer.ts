import { NOTHING_COLLECTED } from '../../format/turn-record.ts';
import { MARK_BYTES, decodeMark } from '../../format/journal-frame.ts';
import type { IoFile, IoLock } from '../io.ts';
import { Writer } from './commit/writer.ts';
import { Core } from './core/core.ts';
import { IndexKeeper } from './core/index-keeper.ts';
import {
  cutToTails,
  readFramesAfter,
  type Replayed,
  replayJournal,
  startOf,
} from './core/replay.ts';
import { assertKinds, fileLengths, replayWrite } from './core/truths.ts';
import { makeMissing } from './core/create-files.ts';
import { closeAll } from './disk/file-handles.ts';
import { corrupt, ifRoom, unlessCorrupt } from './disk/io-error.ts';
import type { StoreFiles } from './disk/store-files.ts';
import type { ShelfSource } from './index/shelf.ts';
import {
  type Checkpoint,
  mustFindCheckpoint,
  readFormat,
  secureCheckpoint,
  writeCheckpoint,
} from './journal/checkpoint-file.ts';
import { Journal, type JournalOptions, leaveMark, SEGMENTS } from './journal/journal.ts';
import { MARK_FILE, secureLastFrame } from './journal/read-journal.ts';
import { Reserve } from './journal/reserve.ts';
import { findAbandoned, sealAbandoned } from './open-turns/open-turns.ts';
import { ErasedBlobs } from './packs/erased-blobs.ts';
import { listPacks, removeUnnamed } from './packs/pack-file.ts';
import { TypeTable, readCollected, withCollected } from './turns/turn-table.ts';

export interface OpenWriterOptions {
  readonly files: StoreFiles;
  readonly lock: IoLock;
  readonly durability: 'safe' | 'unsafe';
  readonly journal: JournalOptions;
  readonly shelves: ShelfSource;
  readonly cacheBytes: number;
  readonly clock: () => number;
  readonly checkpointMs: number;
  /** Disk space kept for work that makes room on a full disk. Default 0. */
  readonly reserveBytes?: number;
}

/**
 * Turns files on the disk into a store that takes commits. Each step trusts the ones before it, so the order is
 * fixed: replay the journal, make the result durable, load what must be in memory, bring the index up to date, end
 * the turns that a crash left open. A store on a full disk is opened all the same: work that needs room is done
 * before the first commit.
 */
export async function openWriter(options: OpenWriterOptions): Promise<Writer> {
  const { files, shelves, cacheBytes, durability } = options;
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

  const keeper = new IndexKeeper(core, shelves, () => core.seq);
  const opened: { close(): Promise<void> | void }[] = [keeper];
  try {
    await catchUpIndex({ files, core, keeper, before, replayed });
    const settled = await ifRoom(() => settle(opening, core, durability));
    await removeOrphanPacks(files, replayed.tails.nextPack);

    const checkpoint = settled ?? before;
    core.seq = replayed.seq;
    core.place = checkpoint.body.journal;
    const journal = await Journal.open(files, options.journal, core.place);
    opened.push(journal);
    const mark = await openMark(files, replayed.seq);
    opened.push(mark);
    const writer: Writer = new Writer({
      ...options,
      core,
      journal,
      mark,
      keeper,
      checkpoint,
      reserve: new Reserve(files, options.reserveBytes ?? 0),
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
  const replayed = await replayJournal(files, before, { onFull });
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

interface CatchUp {
  readonly files: StoreFiles;
  readonly core: Core;
  readonly keeper: IndexKeeper;
  readonly before: Checkpoint;
  readonly replayed: Replayed;
}

/**
 * The index takes in the frames that it has not seen. It is rebuilt when it cannot know what it missed. Meanwhile
 * `core.seq` is the frame that the index has got to: it must never claim one that it has not taken in.
 */
async function catchUpIndex(catchUp: CatchUp): Promise<void> {
  const { files, core, keeper, before, replayed } = catchUp;
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
    await readFramesAfter(files, before, covered, async (frame, writes) => {
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
