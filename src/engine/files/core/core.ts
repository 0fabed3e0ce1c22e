import { fieldsOf, mustReadContextMeta } from '../../context-meta.ts';
import type { Hash, KeyHash, TurnId } from '../../../base/brand.ts';
import { BLOB_OVERHEAD_BYTES } from '../../../format/blob-record.ts';
import {
  type CollectedMap,
  type DeclaredType,
  isCollected,
  NOTHING_COLLECTED,
} from '../../../format/turn-record.ts';
import type { HeadRecord } from '../../../format/head-record.ts';
import type { JournalWrite } from '../../../format/journal-frame.ts';
import type { Tips } from '../../engine.ts';
import { Draft } from '../../plan/draft.ts';
import type { Intake } from '../../plan/prepared-batch.ts';
import type { FileKind, LogState, OpenTurn, StoredTurn } from '../../plan/draft.ts';
import type { ContextMeta, DocRow, FsRootRow, PatchRow } from '../../rows.ts';
import { corrupt } from '../disk/io-error.ts';
import type { Reliance } from '../../upkeep.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import { contextDoc, type DocBase, DocBases, DOCS_FILE, readDoc } from '../docs/doc-log.ts';
import type { DocPlace, Totals } from '../index/shelf.ts';
import { HEAD_RECORDS, HeadTable, indexHead, withOpen } from '../heads/head-table.ts';
import type { Index } from '../index/store-index.ts';
import type { JournalPlace } from '../journal/journal.ts';
import { extentsFile, hasLog, readLogState } from '../logs/line-log.ts';
import { readOpenText } from '../open-turns/open-turns.ts';
import { BlobReader } from '../packs/blob-reader.ts';
import type { BlobPlaced } from '../packs/pack-file.ts';
import { ErasedBlobs } from '../packs/erased-blobs.ts';
import { firstFsRoot, newestPatch, readFsRoots, readPatches } from '../patches/patches.ts';
import { DamageReport } from '../truth/state.ts';
import type { State, Tails } from '../truth/state.ts';
import { TURN_RECORDS, TurnTable } from '../turns/turn-table.ts';
import type { TypeTable } from '../turns/turn-table.ts';

// The current state of the store: committed, durable and visible. Readers and plans query it. Only `absorb`, called
// when a group is published, changes it.

/** Shares of the cache: payloads are read most, and a turn is nine objects for the collector to walk. */
const TURN_SHARE = 0.1;
const HEAD_SHARE = 0.05;

export interface CoreParts {
  readonly files: StoreFiles;
  readonly types: TypeTable;
  readonly tails: Tails;
  readonly seq: number;
  readonly place: JournalPlace;
  readonly cacheBytes: number;
}

export class Core implements State {
  readonly files: StoreFiles;
  readonly types: TypeTable;
  readonly turns: TurnTable;
  readonly heads: HeadTable;
  readonly blobs: BlobReader;
  readonly docBases: DocBases = new DocBases();
  readonly openTurns: Map<number, OpenTurn> = new Map();
  tails: Tails;
  /** The last visible frame. */
  seq: number;
  /** The place where the journal goes on after that frame. */
  place: JournalPlace;
  damage: DamageReport = new DamageReport();
  /** Turns whose payloads a collection took. They read as if they had never existed. */
  collected: CollectedMap = NOTHING_COLLECTED;
  /** Blobs that were erased. Their absence is no damage. */
  erased: ErasedBlobs = new ErasedBlobs();
  /** A pack that is being removed. */
  leaving: number | undefined;
  /** The receiver of what commits rely on, while a collection runs. */
  reliance: Reliance | undefined;
  /** Called with the writes of every group that becomes visible, while a backup runs. */
  onFrame: ((writes: readonly JournalWrite[]) => void) | undefined;
  #index: Index | undefined;
  /** The number for the next pack, also for packs that no frame names yet. */
  #nextPack: number;

  constructor({ files, types, tails, seq, place, cacheBytes }: CoreParts) {
    this.files = files;
    this.types = types;
    this.tails = tails;
    this.seq = seq;
    this.place = place;
    this.#nextPack = tails.nextPack;
    this.turns = new TurnTable(files, types, cacheBytes * TURN_SHARE);
    this.heads = new HeadTable(files, cacheBytes * HEAD_SHARE);
    const blobBytes = cacheBytes * (1 - TURN_SHARE - HEAD_SHARE);
    this.blobs = new BlobReader(files, (hash, use) => this.index.findBlob(hash, use), blobBytes);
  }

  get index(): Index {
    if (this.#index === undefined) throw new Error('the index is not open yet');
    return this.#index;
  }

  set index(index: Index) {
    this.#index = index;
  }

  newPack = (): number => {
    const number = this.#nextPack;
    this.#nextPack += 1;
    return number;
  };

  relyOnBlob(hash: Hash): void {
    this.reliance?.blob(hash);
  }

  relyOnTurn(turn: TurnId): void {
    this.reliance?.turn(turn);
  }

  /** Like `hasBlob`, for callers that will rely on the blob before any commit says so. */
  hasLasting(hash: Hash): boolean {
    const place = this.index.findBlob(hash);
    return place !== undefined && place.pack !== this.leaving;
  }

  hasBlob(hash: Hash): boolean {
    return this.index.findBlob(hash) !== undefined;
  }

  findSha256(sha256: string): Hash | undefined {
    return this.index.findSha256(sha256);
  }

  peekHead(id: number): HeadRecord | undefined {
    return this.heads.peek(id);
  }

  async getHead(id: number): Promise<HeadRecord | undefined> {
    if (id < 1 || id >= this.tails.nextContext) return undefined;
    const head = await this.heads.get(id, (context) => this.index.getContext(context));
    return withOpen(head, this.openTurns);
  }

  /** The turn that the stored head of a context calls open. Undefined when the head is damaged. */
  async openTurnOf(context: number): Promise<TurnId | undefined> {
    return (await HEAD_RECORDS.read(this.files, context))?.openTurn;
  }

  peekSealedTurn(id: number): StoredTurn | undefined {
    return this.openTurns.has(id) || this.isCollected(id) ? undefined : this.turns.peek(id);
  }

  async getSealedTurn(id: number, alone?: boolean): Promise<StoredTurn | undefined> {
    if (!this.#isSealed(id)) return undefined;
    const turn = await this.turns.get(id, alone);
    if (turn !== undefined) return turn;
    throw TURN_RECORDS.damaged(id, 'gone');
  }

  #isSealed(id: number): boolean {
    const isGiven = id >= 1 && id < this.tails.nextTurn;
    return isGiven && !this.openTurns.has(id) && !this.isCollected(id);
  }

  /** The turns with these ids, which rise, as far as they exist. They take no room in the cache. */
  async findTurns(ids: readonly number[]): Promise<StoredTurn[]> {
    // Recently appended turns are in memory and cost no wait.
    const near = ids.map((id) => this.#findNear(id));
    const missing = ids.filter((id, at) => near[at] === undefined && this.#isSealed(id));
    const found = await this.turns.getMany(missing);
    const gone = found.indexOf(undefined);
    if (gone !== -1) throw TURN_RECORDS.damaged(missing[gone] ?? 0, 'gone');
    const read = new Map(missing.map((id, at) => [id, found[at]]));
    return ids.flatMap((id, at) => near[at] ?? read.get(id) ?? []);
  }

  #findNear(id: number): StoredTurn | undefined {
    const open = this.openTurns.get(id);
    return open === undefined ? this.peekSealedTurn(id) : { ...open, idempotency: undefined };
  }

  /** The turn, open or sealed. */
  async findTurn(id: number): Promise<StoredTurn | undefined> {
    const open = this.openTurns.get(id);
    if (open === undefined) return this.getSealedTurn(id);
    return { ...open, idempotency: undefined };
  }

  getOpenTurn(id: number): OpenTurn | undefined {
    return this.openTurns.get(id);
  }

  async readOpenTurn(turn: OpenTurn, start: number, end: number): Promise<Uint8Array> {
    return (await readOpenText(this.files, turn)).subarray(start, end);
  }

  async getContextMeta(id: number): Promise<ContextMeta> {
    const place = this.findDoc(contextDoc(id));
    if (place === undefined) return {};
    const { content } = await readDoc(this.files, contextDoc(id), place);
    return mustReadContextMeta(content ?? '{}', id, DOCS_FILE);
  }

  isCollected(turn: number): boolean {
    return isCollected(this.collected, turn);
  }

  findKey(key: KeyHash): number | undefined {
    const turn = this.index.findKey(key);
    if (turn === undefined) this.damage.assertWhole('turns');
    return turn;
  }

  findName(name: string): number | undefined {
    const id = this.index.findName(name);
    if (id !== undefined) return id;
    // A document or a head that cannot be read may be the one of this name.
    this.damage.assertWhole('docs');
    this.damage.assertWhole('heads');
    return undefined;
  }

  async newestPatch(turn: number): Promise<number> {
    return newestPatch(this.files, this.patchesOf([turn]));
  }

  async firstFsRoot(turn: number): Promise<Hash | undefined> {
    return firstFsRoot(this.files, this.patchesOf([turn]));
  }

  /** Numbers of the patches and file-system roots of these turns, rising. */
  patchesOf(turns: readonly (TurnId | number)[]): number[] {
    if (this.tails.nextPatch === 1) return [];
    // A patch that cannot be read could be on any turn.
    this.damage.assertWhole('patches');
    return this.index.patchesOf(turns.map(Number));
  }

  async getPatches(turns: readonly TurnId[]): Promise<PatchRow[]> {
    return readPatches(this.files, this.patchesOf(turns));
  }

  async getFsRoots(turns: readonly TurnId[]): Promise<FsRootRow[]> {
    return readFsRoots(this.files, this.patchesOf(turns));
  }

  async getPatchesAt(seqs: readonly number[]): Promise<PatchRow[]> {
    const { nextPatch } = this.tails;
    const given = seqs.filter((seq) => Number.isSafeInteger(seq) && seq > 0 && seq < nextPatch);
    return readPatches(this.files, given);
  }

  tips(): Tips {
    const { nextTurn, nextContext, nextPatch } = this.tails;
    const open = [...this.openTurns.keys()].toSorted((a, b) => a - b);
    return {
      turn: BigInt(nextTurn - 1) as TurnId,
      context: BigInt(nextContext - 1),
      patch: nextPatch - 1,
      open: open.map((turn) => BigInt(turn) as TurnId),
    };
  }

  findDoc(name: string): DocPlace | undefined {
    // After a damaged record, an older version could be taken for the newest.
    this.damage.assertWhole('docs');
    return this.index.findDoc(name);
  }

  async getDoc(name: string): Promise<DocRow | undefined> {
    const place = this.findDoc(name);
    if (place === undefined || place.removed) return undefined;
    const isNewest = (): boolean => this.index.findDoc(name)?.offset === place.offset;
    const content = await this.docBases.read(this.files, name, place, isNewest);
    return { name, version: place.version, content };
  }

  /** Skips the engine's own documents, `contexts/<number>`. */
  listDocs(prefix: string, limit: number, after: string | undefined): string[] {
    this.damage.assertWhole('docs');
    const page = this.index.flushed().listDocs(prefix, limit, after);
    const own = page.findIndex((name) => name.startsWith('contexts/'));
    if (own === -1) return page;
    return [
      ...page.slice(0, own),
      ...this.index.flushed().listDocs(prefix, limit - own, 'contexts/~'),
    ];
  }

  async getLogState(name: string): Promise<LogState | undefined> {
    const state = await readLogState(this.files, name);
    if (state !== undefined || !(await this.hasLog(name))) return state;
    throw corrupt(extentsFile(name), 0, `the extents of ${name} are gone`);
  }

  async hasLog(name: string): Promise<boolean> {
    return hasLog(this.files, name, () => this.findDoc(name) !== undefined);
  }

  async fileKind(name: string): Promise<FileKind | undefined> {
    const stat = await this.files.io.stat(this.files.pathOf(name));
    if (stat === undefined || stat.kind === 'folder') return stat && 'folder';
    return (await this.files.size(extentsFile(name))) > 0 ? 'log' : 'doc';
  }

  tagOf(type: DeclaredType): { tag: string; declared: boolean } {
    const tag = this.types.tagOf(type);
    return { tag, declared: this.types.has(tag) };
  }

  startDraft(nowMs: number, intake: Intake): Draft {
    const { nextTurn, nextContext, nextPatch, timeMs } = this.tails;
    // If the system clock jumps back, the time here stands still until the system clock has caught up.
    const counters = { nextTurn, nextContext, nextPatch };
    return new Draft(this, Math.max(nowMs, timeMs), counters, intake);
  }

  /** Takes in a group that is durable, and in its files or waiting for them. */
  absorb(draft: Draft, group: EncodedGroup): void {
    const { index } = this;
    this.tails = group.tails;
    this.collected = group.collected ?? this.collected;
    for (const [hash] of draft.erased.entries()) this.erased.add(hash);
    for (const [tag, type] of draft.types.entries()) this.types.add({ ...type, tag });
    for (const place of group.blobs) index.addBlob(place);
    for (const [sha256, hash] of draft.sha256.entries()) index.addSha256(sha256, hash);
    for (const [id, turn] of draft.turns.entries()) this.#absorbTurn(id, turn);
    index.count(countGroup(draft, group.blobs));
    for (const [, head] of draft.heads.entries()) this.absorbHead(head);
    for (const [id, open] of draft.opens.entries()) {
      if (open.closed) this.openTurns.delete(id);
      else this.openTurns.set(id, open.turn);
    }
    for (const [seq, patch] of draft.patches.entries()) index.addPatch(Number(patch.turn), seq);
    for (const [name, log] of draft.logs.entries()) index.setLog(name, log.state === undefined);
    for (const { name, place, base } of group.docs) {
      index.setDoc(name, place);
      this.docBases.note(name, base);
    }
    for (const [id, { name, kind, labels = [], meta }] of draft.metas.entries())
      index.setContextTags(id, { name, kind, labels, fields: fieldsOf(meta) });
    this.onFrame?.(group.writes);
  }

  #absorbTurn(id: number, turn: StoredTurn): void {
    this.turns.put(turn);
    if (turn.idempotency !== undefined) this.index.addKey(turn.idempotency, id);
  }

  absorbHead(head: HeadRecord): void {
    this.heads.put(head);
    indexHead(this.index, head);
  }
}

/** The amounts that a group adds to the totals of the store. */
function countGroup(draft: Draft, blobs: readonly BlobPlaced[]): Totals {
  const added = { turns: 0, logicalBytes: 0, blobs: blobs.length, blobBytes: 0, storedBytes: 0 };
  for (const [, { row }] of draft.turns.entries()) {
    added.turns += 1;
    added.logicalBytes += row.size;
  }
  for (const { rawLength, storedLength } of blobs) {
    added.blobBytes += rawLength;
    added.storedBytes += BLOB_OVERHEAD_BYTES + storedLength;
  }
  return added;
}

/** The encoded form of a group: its bytes and their places. */
export interface EncodedGroup {
  readonly writes: readonly JournalWrite[];
  readonly tails: Tails;
  readonly blobs: readonly BlobPlaced[];
  readonly docs: readonly DocWritten[];
  /** The map of collected turns, when the group adds some. */
  readonly collected: CollectedMap | undefined;
}

export interface DocWritten {
  readonly name: string;
  readonly place: DocPlace;
  /** The base that the next version may be written against. */
  readonly base: DocBase | undefined;
}
