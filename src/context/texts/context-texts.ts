import {
  NO_TURN,
  toContextId,
  toTurnId,
  type ContextId,
  type Hash,
  type TurnId,
} from '../../base/brand.ts';
import { isQuipuError } from '../../base/errors.ts';
import type { BlobUse, Engine, Tips } from '../../engine/engine.ts';
import type { TurnRow } from '../../engine/rows.ts';
import type {
  TextChange,
  TextDocument,
  TextRef,
  TextPage,
  TextSource,
} from '../../engine/texts.ts';
import { Encoding } from '../../format/turn-record.ts';
import { decodePayload } from '../payloads/codecs.ts';
import type { TurnView } from '../turn.ts';
import { isOpen, toViews, walkUpTo } from '../turns/read-turns.ts';

// The texts of turns. Ids are dense, so one mark says how far all contexts were read. A turn that is patched is read
// again; an open one is read when it is sealed.

const PAGE_TURNS = 256;
/** Payloads of so many turns, and so many bytes, are in memory at the same time. */
const SLICE_TURNS = 64;
const SLICE_BYTES = 4_194_304;
/** A larger payload is read when it is plain text, and then its beginning. */
const PAYLOAD_BYTES_MAX = 16_777_216;

/** Entries of an importer about its own work. Nobody said them. */
const LEDGER = /^import\.(?:session|asides|file|table)$/;
/** A turn of a history that was imported. Its payload says when it was said. */
const IMPORTED = /^import\.[\w-]+\.(?:message|marker|event)$/;

export function contextTexts(engine: Engine): TextSource {
  return {
    kind: 'context',
    // The tips tell everything.
    hear: () => undefined,
    miss: () => undefined,

    async *read(marks) {
      const mark = TurnMark.parse(await marks.get(''));
      const tips = await engine.tips();
      yield* readForks(engine, mark, tips);
      yield* readTurns(engine, mark, tips);
      yield* readPatched(engine, mark, tips);
    },

    async load(documents) {
      const texts = await readTexts(engine, await getTurns(engine, turnsOf(documents)));
      const found = new Map(putsOf(texts).map((put) => [put.ref, put]));
      return documents.map(({ ref }) => found.get(ref));
    },

    async around(thread, ref, count) {
      const id = toTurnId(BigInt(ref));
      const row = await engine.getTurn(id);
      const head = await engine.getHead(toContextId(BigInt(thread)));
      if (row === undefined) return [];
      const last = head && (await engine.ancestorAt(head.head, row.depth + count));
      const tip = last ?? (head && (await newestOf(engine, head.head, row))) ?? row;
      const rows = await walkUpTo(engine, tip.id, tip.depth - row.depth + count + 1);
      return putsOf(await readTexts(engine, rows));
    },

    async gone(documents) {
      const rows = await getTurns(engine, turnsOf(documents));
      const found = new Set(rows.map(({ id }) => String(id)));
      return documents.filter(({ ref }) => !found.has(ref));
    },

    async shows(thread, { ref, depth }) {
      const head = await engine.getHead(toContextId(BigInt(thread)));
      if (head === undefined || head.head === NO_TURN || head.headDepth < depth) return false;
      return String((await engine.ancestorAt(head.head, depth))?.id) === ref;
    },
  };
}

function turnsOf(documents: readonly TextRef[]): TurnId[] {
  return rising(documents.map(({ ref }) => toTurnId(BigInt(ref))));
}

function putsOf(changes: readonly TextChange[]): TextDocument[] {
  return changes.flatMap((change) => ('put' in change ? [change.put] : []));
}

/** Each number once. */
function rising<Id extends bigint>(ids: readonly Id[]): Id[] {
  return [...new Set(ids)].toSorted((a, b) => (a < b ? -1 : 1));
}

/** The head, if it goes on from `row`. */
async function newestOf(engine: Engine, head: TurnId, row: TurnRow): Promise<TurnRow | undefined> {
  if (head === NO_TURN || (await engine.ancestorAt(head, row.depth))?.id !== row.id)
    return undefined;
  return engine.getTurn(head);
}

async function* readForks(engine: Engine, mark: TurnMark, tips: Tips): AsyncGenerator<TextPage> {
  while (mark.context < tips.context) {
    const ids = numbers(mark.context, tips.context, PAGE_TURNS) as ContextId[];
    const rows = await oneByOne(
      ids,
      async (contexts) => (await engine.getMany({ contexts })).contexts,
    );
    const forked = rows.filter(({ base }) => base !== NO_TURN);
    const wanted = await getTurns(engine, rising(forked.map(({ base }) => base)));
    const bases = new Map(wanted.map((row) => [row.id, row]));
    const changes = forked.flatMap(({ id, base }): TextChange[] => {
      const row = bases.get(base);
      if (row === undefined) return [];
      return [{ fork: { thread: String(id), parent: String(row.context), depth: row.depth } }];
    });
    mark.context = ids.at(-1) ?? tips.context;
    yield mark.page(changes, tips);
  }
}

async function* readTurns(engine: Engine, mark: TurnMark, tips: Tips): AsyncGenerator<TextPage> {
  const stillOpen = new Set(tips.open);
  const sealed = [...mark.open].filter((id) => !stillOpen.has(id));
  for (let at = 0; at < sealed.length; at += PAGE_TURNS) {
    const ids = sealed.slice(at, at + PAGE_TURNS);
    for (const id of ids) mark.open.delete(id);
    yield mark.page(await readTexts(engine, await getTurns(engine, ids), 'once'), tips);
  }
  while (mark.turn < tips.turn) {
    const ids = numbers(mark.turn, tips.turn, PAGE_TURNS) as TurnId[];
    for (const { rows, isLast } of inSlices(await getTurns(engine, ids))) {
      for (const row of rows) if (isOpen(row)) mark.open.add(row.id);
      const texts = await readTexts(engine, rows, 'once');
      // Behind the last there may be turns that are gone.
      mark.turn = (isLast ? ids : rows.map(({ id }) => id)).at(-1) ?? tips.turn;
      yield mark.page(texts, tips);
    }
  }
}

async function* readPatched(engine: Engine, mark: TurnMark, tips: Tips): AsyncGenerator<TextPage> {
  while (mark.patch < tips.patch) {
    const last = Math.min(tips.patch, mark.patch + PAGE_TURNS);
    const seqs = Array.from({ length: last - mark.patch }, (_, at) => mark.patch + at + 1);
    const patches = await oneByOne(
      seqs,
      async (some) => (await engine.getMany({ patches: some })).patches,
    );
    const rows = await getTurns(engine, rising(patches.map(({ turn }) => turn)));
    const read = rows.filter(({ id }) => id <= mark.turn);
    mark.patch = last;
    yield mark.page(await readTexts(engine, read, 'once'), tips);
  }
}

function numbers(after: bigint, last: bigint, most: number): bigint[] {
  const count = Math.min(most, Number(last - after));
  return Array.from({ length: count }, (_, at) => after + BigInt(at) + 1n);
}

function* inSlices(
  rows: readonly TurnRow[],
): Generator<{ rows: readonly TurnRow[]; isLast: boolean }> {
  let first = 0;
  let bytes = 0;
  for (const [at, { size }] of rows.entries()) {
    bytes += Math.min(size, PAYLOAD_BYTES_MAX);
    if (at + 1 - first < SLICE_TURNS && bytes < SLICE_BYTES) continue;
    if (at + 1 === rows.length) break;
    yield { rows: rows.slice(first, at + 1), isLast: false };
    first = at + 1;
    bytes = 0;
  }
  yield { rows: rows.slice(first), isLast: true };
}

/**
 * Reads the texts of the turns that are sealed. The index reads every payload `once`: it must not push out what is read
 * again.
 */
async function readTexts(
  engine: Engine,
  turns: readonly TurnRow[],
  use: BlobUse = 'again',
): Promise<readonly TextChange[]> {
  const rows = turns.filter((row) => !isOpen(row));
  if (rows.length === 0) return [];
  const patches = await engine.getPatches(rows.map(({ id }) => id));
  const views = toViews({ turns: rows, fsRoots: [], patches }, 'latest');
  const wanted = views.map((view) => (isLong(view) ? undefined : shownPayload(view)));
  const near = await payloadsNear(engine, wanted, use);
  const isFar = (view: TurnView, at: number): boolean =>
    near[at] === undefined && shownPayload(view) !== undefined;
  // A promise for each turn of a large store would be more garbage than its text.
  const far = new Map(
    await Promise.all(
      views.filter(isFar).map(async (view) => [view, await readFar(engine, view, use)] as const),
    ),
  );
  return views.map((view, at) => {
    const bytes = near[at];
    return toChange(view, bytes === undefined ? far.get(view) : decodeSafely(bytes, view));
  });
}

/** The payload that a reader of the turn sees, if it can have text. */
function shownPayload(view: TurnView): Hash | undefined {
  const { row, encoding, payload, patch } = view;
  if (patch?.tombstone === true || LEDGER.test(row.type)) return undefined;
  return isLong(view) && encoding !== Encoding.text ? undefined : payload;
}

function isLong({ size }: TurnView): boolean {
  return size > PAYLOAD_BYTES_MAX;
}

/** Payloads that cost no wait for each. */
async function payloadsNear(
  engine: Engine,
  payloads: readonly (Hash | undefined)[],
  use: BlobUse,
): Promise<readonly (Uint8Array | undefined)[]> {
  if (use === 'again') return payloads.map((payload) => payload && engine.peekBlob?.(payload));
  const hashes = payloads.flatMap((payload) => payload ?? []);
  const views = (await engine.viewBlobs?.(hashes)) ?? [];
  let next = 0;
  return payloads.map((payload) => (payload === undefined ? undefined : views[next++]?.bytes));
}

async function readFar(engine: Engine, view: TurnView, use: BlobUse): Promise<unknown> {
  const { payload } = view;
  try {
    const bytes =
      payload &&
      (isLong(view) ? await readBeginning(engine, payload) : await engine.viewBlob(payload, use));
    return bytes && decodeSafely(bytes, view);
  } catch {
    // The payload is damaged: it has no text to find. Reading the turn says so.
    return undefined;
  }
}

function decodeSafely(bytes: Uint8Array, { encoding }: TurnView): unknown {
  try {
    const value = decodePayload(bytes, encoding);
    // An encoding that nobody here knows.
    return value instanceof Uint8Array ? undefined : value;
  } catch {
    // Not in its encoding.
    return undefined;
  }
}

/** A turn that shows nothing leaves the index. */
function toChange({ row }: TurnView, value: unknown): TextChange {
  const { depth, type } = row;
  const thread = String(row.context);
  const ref = String(row.id);
  if (value === undefined) return { remove: { thread, ref } };
  const at = (IMPORTED.test(type) && saidAt(value)) || row.createdAt;
  return { put: { thread, ref, depth, at, type, value } satisfies TextDocument };
}

function saidAt(value: unknown): number | undefined {
  const { at } = Object(value) as { readonly at?: unknown };
  return Number.isSafeInteger(at) && (at as number) > 0 ? (at as number) : undefined;
}

async function readBeginning(engine: Engine, payload: Hash): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const piece of engine.readBlob(payload, 0, SLICE_BYTES)) pieces.push(piece);
  return Buffer.concat(pieces);
}

function getTurns(engine: Engine, ids: readonly TurnId[]): Promise<readonly TurnRow[]> {
  return oneByOne(ids, async (turns) => (await engine.getMany({ turns })).turns);
}

/** A damaged record is left out, and hides no other. */
async function oneByOne<Id, Row>(
  ids: readonly Id[],
  read: (some: readonly Id[]) => Promise<readonly Row[]>,
): Promise<readonly Row[]> {
  if (ids.length === 0) return [];
  try {
    return await read(ids);
  } catch (error) {
    if (!isQuipuError(error, 'CORRUPT')) throw error;
    if (ids.length === 1) return [];
    const half = Math.ceil(ids.length / 2);
    return [
      ...(await oneByOne(ids.slice(0, half), read)),
      ...(await oneByOne(ids.slice(half), read)),
    ];
  }
}

/** The position up to which turns, patches and contexts were read: `<turn>.<patch>.<context>.<open turns>`. */
class TurnMark {
  turn: bigint;
  patch: number;
  context: bigint;
  readonly open: Set<TurnId>;

  private constructor(turn: bigint, patch: number, context: bigint, open: readonly TurnId[]) {
    this.turn = turn;
    this.patch = patch;
    this.context = context;
    this.open = new Set(open);
  }

  /** A mark that is none begins at the beginning. */
  static parse(text: string | undefined): TurnMark {
    const [, turn = '0', patch = '0', context = '0', open = ''] =
      /^(\d{1,16})\.(\d{1,16})\.(\d{1,16})\.([\d,]*)$/.exec(text ?? '') ?? [];
    const ids = open === '' ? [] : open.split(',').map((id) => BigInt(id) as TurnId);
    return new TurnMark(BigInt(turn), Number(patch), BigInt(context), ids);
  }

  page(changes: readonly TextChange[], tips: Tips): TextPage {
    const left =
      Number(tips.turn - this.turn + (tips.context - this.context)) + (tips.patch - this.patch);
    const total = Number(tips.turn + tips.context) + tips.patch;
    return { changes, marks: [['', this.toString()]], done: total - left, total };
  }

  toString(): string {
    return `${this.turn}.${this.patch}.${this.context}.${[...this.open].join(',')}`;
  }
}
