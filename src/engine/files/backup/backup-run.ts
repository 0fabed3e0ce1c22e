import type { BackupReport } from '../../upkeep.ts';
import type { Progress } from '../../progress.ts';
import { ERASED_RECORD_BYTES, type ErasedRecord } from '../../../format/erased-record.ts';
import { readErased } from '../packs/erased-blobs.ts';
import {
  COLLECTED_FILE,
  ERASED_FILE,
  OPEN_FOLDER,
  openTurnFile,
  packFile,
  packNumber,
} from '../names.ts';
import { fileLengths } from '../recovery/file-lengths.ts';
import { listPacks } from '../packs/rebuild-packs.ts';
import { readCollected } from '../turns/collected-turns.ts';
import type { Tails } from '../commit/tails.ts';
import type { Writer } from '../commit/writer.ts';
import type { BackupFolder } from './backup-folder.ts';
import { type BackupState, type CopiedPack, writeNote } from './backup-note.ts';
import { copyDocs, copyPublished, type Published } from '../docs/copy-docs.ts';
import { copyHeads } from '../heads/copy-heads.ts';
import type { CopyJob } from './copy-job.ts';
import { type CopiedLogs, copyLogs } from '../logs/copy-logs.ts';
import { type Moment, takeMoment } from './copy-moment.ts';
import { copyPack, listSpans, type PackSpan } from '../packs/copy-packs.ts';
import type { CopySink } from './copy-sink.ts';
import { copySmall } from './copy-small.ts';
import { copyTables, copyTurn, emptyTurn, isEmptyTurn } from './copy-tables.ts';
import { watchChanges } from './watch-changes.ts';

// One run of a backup, from the store to a sink. Files that only grow are copied beside writers, most of them
// before the moment that the copy will show, the rest after it: data below a tail does not change. Data that
// changes in place is compared first, and read once more at the moment itself.

export class BackupRun {
  readonly #writer: Writer;
  readonly #folder: BackupFolder;
  readonly #job: CopyJob;
  readonly #published: Published = new Map();
  /** Empty slots of turns.log in the copy. */
  readonly #holes: Set<number>;
  /** The length up to which each pack of the copy equals the store's. */
  readonly #packs: Map<number, CopiedPack & { closed: boolean }>;
  #tails: Tails | undefined;
  #reusedBytes = 0;

  constructor(writer: Writer, folder: BackupFolder, sink: CopySink, progress?: Progress) {
    this.#writer = writer;
    this.#folder = folder;
    this.#job = { from: writer.core.files, into: sink, progress };
    const state = folder.base?.state;
    this.#tails = state?.tails;
    this.#holes = new Set(state?.openTurns);
    this.#packs = new Map();
    for (const pack of [...(state?.packs ?? []), ...folder.note.copied]) {
      this.#packs.set(pack.number, { ...pack, closed: true });
    }
    for (const { number, length } of state?.tails.packs ?? []) {
      this.#packs.set(number, { number, length, closed: false });
    }
  }

  /** Everything is in the sink when this resolves. Nothing has been made valid yet. */
  async copy(): Promise<BackupState> {
    const { core } = this.#writer;
    const { base } = this.#folder;
    await core.files.catchUp();
    await this.#countReused();
    const seen = watchChanges(this.#writer);
    let moment: Moment;
    let logs: CopiedLogs;
    try {
      await this.#copyGrown(core.tails);
      const { nextContext } = core.tails;
      const known = base?.checkpoint.body.tails.nextContext ?? 0;
      await copyHeads(this.#job, known, nextContext);
      logs = await copyLogs(this.#job, base !== undefined);
      const hasOpenTurn = this.#hasOpenTurn.bind(this);
      moment = await takeMoment(this.#writer, seen, { nextContext, logs, hasOpenTurn });
    } finally {
      seen.stop();
    }
    for (const write of moment.writes) await this.#job.into.take(write);
    await this.#copyGrown(moment.tails);
    await this.#settleTurns(moment.openTurns);
    const erased = await this.#copyErased();
    await readCollected(core.files);
    await copySmall(this.#job, COLLECTED_FILE, base !== undefined);
    await this.#removePacks();
    for (const [name, place] of this.#published) {
      if ((logs.get(name)?.extents ?? 0) === 0) await copyPublished(this.#job, name, place);
    }
    const { frame, at, tails, openTurns } = moment;
    return {
      frame,
      at,
      // The copy has its own frames. Their numbers continue from its last frame.
      seq: base === undefined ? frame : base.checkpoint.seq + 1,
      tails,
      openTurns,
      packs: this.#closedPacks(),
      logs: [...logs.values()].filter(({ extents }) => extents > 0).length,
      erased,
      collectedBytes: await core.files.size(COLLECTED_FILE),
    };
  }

  report(): BackupReport {
    const { touchedFiles: files, copiedBytes } = this.#job.into;
    return { files, copiedBytes, reusedBytes: this.#reusedBytes };
  }

  /** Copies all files that only grow, from the end of the copy up to `tails`. */
  async #copyGrown(tails: Tails): Promise<void> {
    await this.#copyPacks(tails);
    for (const hole of await copyTables(this.#job, this.#tails, tails)) this.#holes.add(hole);
    const range = { start: this.#tails?.docsBytes ?? 0, end: tails.docsBytes };
    await copyDocs(this.#job, range, this.#published);
    this.#tails = tails;
  }

  async #copyPacks(tails: Tails): Promise<void> {
    const { into } = this.#job;
    const known = new Map([...this.#packs.values()].flatMap((pack) => closedEntry(pack)));
    for (const span of await listSpans(this.#job.from, tails, known)) {
      const have = this.#packs.get(span.number);
      if (have?.closed === true) continue;
      await copyPack(this.#job, span, have?.length ?? 0);
      this.#packs.set(span.number, span);
      if (!span.closed) continue;
      // The pack is synced and noted, so that a run after an interruption does not begin with this pack again.
      await into.sync();
      await this.#noteCopied(span);
    }
  }

  async #noteCopied({ number, length }: PackSpan): Promise<void> {
    const { note } = this.#folder;
    const first = note.copied.length === 0;
    const copiedErased = first ? await this.#countErased() : note.copiedErased;
    this.#folder.note = { ...note, copied: [...note.copied, { number, length }], copiedErased };
    await writeNote(this.#folder.files, this.#folder.note);
  }

  /** Counts the bytes that the folder already has. A pack that is missing or too short there is copied again. */
  async #countReused(): Promise<void> {
    for (const { number, length } of this.#packs.values()) {
      const size = await this.#folder.files.size(packFile(number));
      if (size < length) this.#packs.delete(number);
      else this.#reusedBytes += length;
    }
    if (this.#tails === undefined) return;
    for (const [name, length] of fileLengths(this.#tails)) {
      if (packNumber(name) === undefined) this.#reusedBytes += length;
    }
  }

  /** Turns sealed by now get their records. Turns open at the moment stay empty. */
  async #settleTurns(open: readonly number[]): Promise<void> {
    const { into } = this.#job;
    const openNow = new Set(open);
    const wasOpen = await this.#stillEmpty();
    for (const turn of this.#holes) if (!openNow.has(turn)) await copyTurn(this.#job, turn);
    for (const turn of openNow) {
      if (!wasOpen.has(turn)) await emptyTurn(this.#job, turn);
    }
    for (const name of await into.files.io.list(into.files.pathOf(OPEN_FOLDER))) {
      if (!openNow.has(Number(name))) await into.remove(`${OPEN_FOLDER}/${name}`);
    }
  }

  async #hasOpenTurn(turn: number, fileBytes: number): Promise<boolean> {
    if (this.#folder.base === undefined) return false;
    return (await this.#folder.files.size(openTurnFile(turn))) === fileBytes;
  }

  /** Turns that were open at the last backup and whose slots are still empty in the copy. */
  async #stillEmpty(): Promise<Set<number>> {
    const empty = new Set<number>();
    for (const turn of this.#folder.base?.state.openTurns ?? []) {
      if (await isEmptyTurn(this.#folder.files, turn)) empty.add(turn);
    }
    return empty;
  }

  /** Erases in the copy what was erased since it was made. Returns the number of erasure records by now. */
  async #copyErased(): Promise<number> {
    const { from, into } = this.#job;
    const { base, note } = this.#folder;
    const count = await this.#countErased();
    const since = Math.min(
      base?.state.erased ?? count,
      note.copied.length > 0 ? note.copiedErased : count,
    );
    await this.#copyPlaces(readErased(from, since));
    // If the copy was opened, something may have been erased there that the store still has.
    if (base !== undefined) await this.#copyPlaces(readErased(into.files, since));
    await copySmall(this.#job, ERASED_FILE, base !== undefined);
    return count;
  }

  async #copyPlaces(places: AsyncIterable<ErasedRecord>): Promise<void> {
    const { from, into } = this.#job;
    for await (const { pack, offset, length } of places) {
      const end = this.#packs.get(pack)?.length ?? 0;
      if (offset + length > end || (await from.size(packFile(pack))) === 0) continue;
      await into.put(packFile(pack), offset, await from.read(packFile(pack), offset, length));
    }
  }

  async #countErased(): Promise<number> {
    return Math.floor((await this.#job.from.size(ERASED_FILE)) / ERASED_RECORD_BYTES);
  }

  /** Packs that the store has dropped are removed together with all other changes. */
  async #removePacks(): Promise<void> {
    const { from, into } = this.#job;
    const living = new Set(await listPacks(from));
    for (const number of await listPacks(into.files)) {
      if (living.has(number) && this.#packs.has(number)) continue;
      this.#packs.delete(number);
      await into.remove(packFile(number));
    }
    for (const number of this.#packs.keys()) if (!living.has(number)) this.#packs.delete(number);
  }

  #closedPacks(): CopiedPack[] {
    return [...this.#packs.values()]
      .filter(({ closed }) => closed)
      .map(({ number, length }) => ({ number, length }))
      .sort((a, b) => a.number - b.number);
  }
}

function closedEntry(pack: CopiedPack & { closed: boolean }): [number, number][] {
  return pack.closed ? [[pack.number, pack.length]] : [];
}
