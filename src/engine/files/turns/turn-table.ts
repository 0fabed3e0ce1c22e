import { LruCache } from '../../../base/lru-cache.ts';
import { corrupt } from '../disk/io-error.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import { type Check, lost } from '../truth/check.ts';
import { RecordFile } from '../truth/record-file.ts';
import type { State, Tails } from '../truth/state.ts';
import type { StoredTurn } from '../../plan/draft.ts';
import type { TurnRow } from '../../rows.ts';
import type { TurnEdge } from '../../upkeep.ts';
import { FILE_MAGIC } from '../../../format/file-header.ts';
import {
  type CollectedMap,
  type DeclaredType,
  decodeCollectedMap,
  decodeTurnRecord,
  decodeTypeLine,
  isCollected,
  NOTHING_COLLECTED,
  stepTowards,
  TURN_RECORD_BYTES,
  type TurnFields,
  type TurnRecord,
  type TypeLine,
  typeTag,
} from '../../../format/turn-record.ts';

export const TYPES_FILE = 'turns/types.jsonl';

/** Programs declare types and do not invent one per turn. This many types would be a mistake of the caller. */
const TYPES_MAX = 65_536;

const LINE_BREAK = 0x0a;

export const COLLECTED_FILE = 'turns/collected.map';

export const TURN_RECORDS: RecordFile<TurnRecord> = new RecordFile({
  name: 'turns/turns.log',
  magic: FILE_MAGIC.turns,
  bytes: TURN_RECORD_BYTES,
  tail: 'nextTurn',
  what: 'the record of turn',
  decode: decodeTurnRecord,
  has: ({ id }, number) => Number(id) === number,
});

/** The approximate size of a cached row in V8: the object, two bigints, a 64-character hash. */
const CACHED_TURN_BYTES = 512;
/** Neighbours are read together: a chain appended at once lies in consecutive slots. */
const PAGE_RECORDS = 32;
/** A pass over many turns reads this many slots at a time. */
const STRETCH_RECORDS = 256;
/** Slots in between that a pass reads along rather than begin another stretch. */
const GAP_RECORDS = 8;
const ZERO_RECORD = Buffer.alloc(TURN_RECORD_BYTES);

/** Sealed turns by id. A slot is written once, so a cached turn is never stale. */
export class TurnTable {
  readonly #files: StoreFiles;
  readonly #types: TypeTable;
  readonly #turns: LruCache<number, StoredTurn>;
  #reads = 0;

  constructor(files: StoreFiles, types: TypeTable, cacheBytes: number) {
    this.#files = files;
    this.#types = types;
    this.#turns = new LruCache(cacheBytes, () => CACHED_TURN_BYTES);
  }

  /** The number of records requested since the store was opened, from the cache or not. */
  get reads(): number {
    return this.#reads;
  }

  /** Like `get`, if the turn is in memory: a caller that walks a chain need not wait for each turn. */
  peek(id: number): StoredTurn | undefined {
    const cached = this.#turns.get(id);
    if (cached !== undefined) this.#reads += 1;
    return cached;
  }

  /**
   * Undefined for an empty slot: a turn that is open, or was never appended. A jump reads its turn `alone`: its
   * neighbours would push out turns that are read again.
   */
  async get(id: number, alone: boolean = false): Promise<StoredTurn | undefined> {
    this.#reads += 1;
    const cached = this.#turns.get(id);
    if (cached !== undefined) return cached;
    const first = alone ? id : Math.floor(id / PAGE_RECORDS) * PAGE_RECORDS;
    const bytes = await TURN_RECORDS.readBytes(this.#files, first, alone ? 1 : PAGE_RECORDS);
    return this.#takeUpTo(id, first, bytes);
  }

  /** Like `get` for ids that rise. For a pass over many turns, which take no room in the cache. */
  async getMany(ids: readonly number[]): Promise<(StoredTurn | undefined)[]> {
    const turns: (StoredTurn | undefined)[] = [];
    for (const { from, to } of stretchesOf(ids)) {
      const [first = 0, last = 0] = [ids[from], ids[to - 1]];
      const bytes = await TURN_RECORDS.readBytes(this.#files, first, last - first + 1);
      for (const id of ids.slice(from, to)) turns.push(this.#mustDecode(bytes, first, id));
    }
    this.#reads += ids.length;
    return turns;
  }

  put(turn: StoredTurn): void {
    this.#turns.set(Number(turn.row.id), turn);
  }

  toStored(record: TurnRecord): StoredTurn | undefined {
    const declared = this.#types.get(record.typeTag);
    if (declared === undefined) return undefined;
    const { id, parent, context, depth, encoding, payload, size, flags, createdAt } = record;
    const { type, version } = declared;
    const row = {
      id,
      parent,
      context,
      depth,
      type,
      version,
      encoding,
      payload,
      size,
      flags,
      createdAt,
    };
    const { idempotency } = record;
    return { row, jump: Number(record.jump), sideJump: Number(record.sideJump), idempotency };
  }

  /** Also caches the older neighbours of `wanted`: a reader of a turn mostly reads its parents next. */
  #takeUpTo(wanted: number, first: number, bytes: Uint8Array): StoredTurn | undefined {
    for (let id = Math.max(1, first); id < wanted; id += 1) {
      const neighbour =
        this.#turns.get(id) === undefined ? this.#decode(bytes, first, id) : undefined;
      if (neighbour !== undefined && neighbour !== 'damaged') this.#turns.set(id, neighbour);
    }
    const turn = this.#mustDecode(bytes, first, wanted);
    if (turn !== undefined) this.#turns.set(wanted, turn);
    return turn;
  }

  #mustDecode(bytes: Uint8Array, first: number, id: number): StoredTurn | undefined {
    const turn = this.#decode(bytes, first, id);
    if (turn !== 'damaged') return turn;
    throw TURN_RECORDS.damaged(id);
  }

  /** `bytes` begin with the slot of turn `first`. */
  #decode(bytes: Uint8Array, first: number, id: number): StoredTurn | 'damaged' | undefined {
    const at = (id - first) * TURN_RECORD_BYTES;
    const slot = bytes.subarray(at, at + TURN_RECORD_BYTES);
    if (slot.length === 0 || ZERO_RECORD.equals(slot)) return undefined;
    const record = TURN_RECORDS.decode(slot, id);
    return (record?.payload && this.toStored(record)) ?? 'damaged';
  }
}

/** Cuts ids where slots that lie near each other end, and where they do not rise: a client may send any list. */
function* stretchesOf(ids: readonly number[]): Generator<{ from: number; to: number }> {
  for (let from = 0, to = 1; to <= ids.length; to += 1) {
    const [first = 0, before = 0, id = Infinity] = [ids[from], ids[to - 1], ids[to]];
    const isNear = id > before && id - before <= GAP_RECORDS;
    if (isNear && id - first < STRETCH_RECORDS) continue;
    yield { from, to };
    from = to;
  }
}

/** The slot of an open turn is empty. */
export async function readSlot(
  files: StoreFiles,
  id: number,
): Promise<'empty' | 'damaged' | TurnRecord> {
  const slot = await TURN_RECORDS.readBytes(files, id);
  if (slot.every((byte) => byte === 0)) return 'empty';
  return TURN_RECORDS.decode(slot, id) ?? 'damaged';
}

/** The record of a turn whose type has the tag `typeTag`. The opposite of `TurnTable.toStored`. */
export function toTurnFields(turn: StoredTurn, typeTag: string): TurnFields {
  const { row, jump, sideJump, idempotency } = turn;
  // Fields are copied one by one: spreading the row took 10 µs, twice the time of encoding it.
  return {
    id: row.id,
    parent: row.parent,
    depth: row.depth,
    encoding: row.encoding,
    typeTag,
    payload: row.payload,
    flags: row.flags,
    size: row.size,
    createdAt: row.createdAt,
    context: row.context,
    jump,
    sideJump,
    idempotency,
  };
}

/** Yields sealed turns below `next` that are not collected, newest first. Skips `open` turns. */
export async function* readTurnEdges(
  { files, collected }: State,
  next: number,
  open: { has(id: number): boolean },
): AsyncGenerator<readonly TurnEdge[]> {
  const isSealed = (id: number): boolean => !open.has(id) && !isCollected(collected, id);
  for await (const page of TURN_RECORDS.pagesBack(files, next, isSealed)) {
    yield page.map(({ number, record }) => {
      if (record?.payload === undefined) throw TURN_RECORDS.damaged(number);
      const { id, parent, payload } = record;
      return { id, parent, payload };
    });
  }
}

export async function readCollected(files: StoreFiles): Promise<CollectedMap> {
  const length = await files.size(COLLECTED_FILE);
  if (length === 0) return NOTHING_COLLECTED;
  const map = decodeCollectedMap(await files.read(COLLECTED_FILE, 0, length));
  if (map === undefined) throw corrupt(COLLECTED_FILE, 0, 'the map of collected turns is damaged');
  return map;
}

/** The tails of a store that has this map. A store from an earlier version learns them when it is opened. */
export function withCollected(tails: Tails, map: CollectedMap | undefined): Tails {
  const next = map?.next ?? 0;
  return next > (tails.nextCollected ?? 0) ? { ...tails, nextCollected: next } : tails;
}

/** Checks the map of collected turns. The file exists once something was collected, and the tails know that. */
export async function checkCollected({ core, files, findings }: Check): Promise<void> {
  const { nextCollected = 0 } = core.tails;
  const length = await files.size(COLLECTED_FILE);
  const map = decodeCollectedMap(await files.read(COLLECTED_FILE, 0, length));
  const isWhole =
    map === undefined ? length === 0 && nextCollected === 0 : map.next >= nextCollected;
  if (isWhole) return;
  const state = length === 0 ? 'gone' : 'damaged';
  const what = `the list of collected turns is ${state}, so that they can be seen again; the next collection makes it again`;
  findings.add(lost(COLLECTED_FILE, 0, what, length));
}

/** A line of the file. `line` is missing when the text declares nothing. */
interface FoundTypeLine {
  readonly line?: TypeLine;
  readonly offset: number;
  readonly length: number;
}

/** Finds the lines. Types declared after the file was cut short begin behind zeros, and count. */
export function* typeLinesIn(bytes: Uint8Array): Generator<FoundTypeLine> {
  for (let offset = 0; offset < bytes.length;) {
    const found = bytes.indexOf(LINE_BREAK, offset) + 1;
    const end = found === 0 ? bytes.length : found;
    const zeros = bytes.subarray(offset, end).lastIndexOf(0) + 1;
    if (zeros > 0) yield { offset, length: zeros };
    offset += zeros;
    const line = decodeTypeLine(bytes.subarray(offset, end));
    const length = end - offset;
    if (length > 0) yield { ...(line && { line }), offset, length };
    offset = end;
  }
}

/** Declared types, all in memory: turn records carry only the tag. */
export class TypeTable {
  readonly #byTag: Map<string, DeclaredType> = new Map();
  /** Tags by name and version. They save a hash per append. */
  readonly #tags: Map<string, Map<number, string>> = new Map();
  #tagCount = 0;

  /** Skips damaged lines: turns of their types are CORRUPT until the type is declared again. */
  static async load(files: StoreFiles, bytes: number): Promise<TypeTable> {
    const table = new TypeTable();
    for (const { line } of typeLinesIn(await files.read(TYPES_FILE, 0, bytes))) {
      if (line !== undefined) table.add(line);
    }
    return table;
  }

  add({ tag, type, version }: TypeLine): void {
    this.#byTag.set(tag, { type, version });
    this.#keepTag(type, version, tag);
  }

  get(tag: string): DeclaredType | undefined {
    return this.#byTag.get(tag);
  }

  has(tag: string): boolean {
    return this.#byTag.has(tag);
  }

  tagOf({ type, version }: DeclaredType): string {
    const known = this.#tags.get(type)?.get(version);
    if (known !== undefined) return known;
    const tag = typeTag(type, version);
    this.#keepTag(type, version, tag);
    return tag;
  }

  #keepTag(type: string, version: number, tag: string): void {
    const versions = this.#tags.get(type) ?? new Map<number, string>();
    if (this.#tagCount >= TYPES_MAX || versions.has(version)) return;
    this.#tags.set(type, versions.set(version, tag));
    this.#tagCount += 1;
  }
}

export async function checkTypes({ files, findings, snapshot }: Check): Promise<void> {
  const bytes = await files.read(TYPES_FILE, 0, snapshot.tails.typesBytes);
  for (const { line, offset, length } of typeLinesIn(bytes)) {
    if (line !== undefined) continue;
    findings.add(lost(TYPES_FILE, offset, 'this line is not a declared type', length));
  }
  await findings.breathe(bytes.length, 'types');
}

// Ways up a chain of turns: one by one, or by jumps.

/** Gets a turn that must exist, because another turn names it. Turns in memory cost no wait. */
type MustGet = (id: number) => StoredTurn | Promise<StoredTurn>;

/** The turn and its ancestors, the nearest first, at most `limit` rows. */
export async function chainBack(
  from: StoredTurn,
  limit: number,
  mustGet: MustGet,
): Promise<TurnRow[]> {
  const rows: TurnRow[] = [];
  for (let turn = from; rows.length < limit;) {
    rows.push(turn.row);
    if (turn.row.depth === 0 || rows.length === limit) break;
    const parent = mustGet(Number(turn.row.parent));
    turn = parent instanceof Promise ? await parent : parent;
  }
  return rows;
}

/** The ancestor at `depth`, which is at most the turn's own, in at most 2·log2(n) record reads. */
export async function ancestorOf(
  from: StoredTurn,
  depth: number,
  mustGet: MustGet,
): Promise<StoredTurn> {
  let turn = from;
  while (turn.row.depth > depth) {
    const next = mustGet(pointerTowards(turn, depth));
    turn = next instanceof Promise ? await next : next;
  }
  return turn;
}

function pointerTowards({ row, jump, sideJump }: StoredTurn, depth: number): number {
  const step = stepTowards(row.depth, depth);
  if (step === 'parent') return Number(row.parent);
  return step === 'jump' ? jump : sideJump;
}

/** The deepest turn on both chains. Turns of one depth jump to one depth, so both sides stay level. */
export async function commonAncestorOf(
  a: StoredTurn,
  b: StoredTurn,
  mustGet: MustGet,
): Promise<StoredTurn | undefined> {
  const depth = Math.min(a.row.depth, b.row.depth);
  let left = await ancestorOf(a, depth, mustGet);
  let right = await ancestorOf(b, depth, mustGet);
  while (left.row.id !== right.row.id) {
    if (left.row.depth === 0) return undefined;
    const apart = left.jump !== right.jump;
    const nextLeft = apart ? left.jump : Number(left.row.parent);
    const nextRight = apart ? right.jump : Number(right.row.parent);
    left = await mustGet(nextLeft);
    right = await mustGet(nextRight);
  }
  return left;
}
