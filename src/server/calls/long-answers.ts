import { given } from '../../base/given.ts';
import type { Hash } from '../../base/brand.ts';
import type { CheckedRead } from '../../context/check-input.ts';
import type { LoadedPage, LoadedTurn, PageRequest } from '../../context/turns/loaded-page.ts';
import { readPage } from '../../context/turns/read-pages.ts';
import type { TurnView } from '../../context/turn.ts';
import type { ContextList, ContextQuery, Engine } from '../../engine/engine.ts';
import type { ContextRow, LogDamage, SalvagedLog } from '../../engine/rows.ts';
import type { ByteParts } from '../../wire/call-values.ts';
import { TurnPacker } from '../../wire/packed-turns.ts';
import type { PackedOverlay, PackedPage } from '../../wire/packed-turns.ts';
import { ANSWER_BYTES } from './check-args.ts';
import { Bell } from '../../base/bell.ts';
import { QuipuError } from '../../base/errors.ts';
import type { Change } from '../../engine/batch.ts';
import type { Progress } from '../../engine/progress.ts';

// Reads whose answers can be longer than a message may be. Each gives as much as fits, and the client asks for the
// rest.

/** Rows and lines read at a time, so that large ones do not pile up before they are counted. */
const STEP = 100;
/** The size of one piece of a blob. The client asks for pieces one by one, so a slow reader holds nobody up. */
const PIECE_BYTES_MAX = 1_048_576;
/** Payload bytes of one page, so that the page with its records fits a frame. The cursor continues from there. */
const PAGE_BYTES_MAX = 33_554_432;

/** Undefined when there is no such blob. `size` is the size of the whole blob. */
export async function readPiece(
  engine: Engine,
  blob: Hash,
  start: number,
  wanted: number,
): Promise<{ size: number; bytes: Uint8Array } | undefined> {
  const stat = await engine.statBlob(blob);
  if (stat === undefined) return undefined;
  const { size } = stat;
  const end = Math.min(start + Math.min(wanted, PIECE_BYTES_MAX), size);
  if (size <= PIECE_BYTES_MAX) {
    const whole = await engine.viewBlob(blob);
    return whole && { size, bytes: whole.subarray(start, end) };
  }
  const pieces: Uint8Array[] = [];
  if (start < end) {
    for await (const piece of engine.readBlob(blob, start, end)) pieces.push(piece);
  }
  return { size, bytes: Buffer.concat(pieces) };
}

/** Gives fewer rows than asked for when their details are large. The cursor continues from there. */
export async function listContexts(
  engine: Engine,
  { limit: most, count, ...query }: ContextQuery,
): Promise<ContextList> {
  const rows: ContextRow[] = [];
  let bytes = 0;
  let cursor = query.cursor;
  let total: number | undefined;
  do {
    const step = Math.min(STEP, most - rows.length);
    const page: ContextList = await engine.listContexts({
      ...query,
      ...(cursor !== undefined && { cursor }),
      ...(count === true && total === undefined && { count }),
      limit: step,
    });
    total ??= page.total;
    rows.push(...page.rows);
    for (const { meta } of page.rows) bytes += JSON.stringify(meta).length;
    cursor = page.cursor;
  } while (cursor !== undefined && rows.length < most && bytes < ANSWER_BYTES);
  return {
    rows,
    ...given({ cursor, total }),
  };
}

/** `more` says that the read stopped for the bytes, not at the end. */
export async function readLog(
  engine: Engine,
  name: string,
  from: number,
  most: number,
): Promise<{ lines: string[]; more: boolean }> {
  const lines: string[] = [];
  let bytes = 0;
  while (lines.length < most) {
    if (bytes >= ANSWER_BYTES) return { lines, more: true };
    const step = Math.min(STEP, most - lines.length);
    const read = await engine.readLog(name, from + lines.length, step);
    for (const line of read) bytes += line.length;
    lines.push(...read);
    if (read.length < step) break;
  }
  return { lines, more: false };
}

export async function salvageLog(
  engine: Engine,
  name: string,
  from: number,
  most: number,
): Promise<(SalvagedLog & { more: boolean }) | undefined> {
  const page: (string | LogDamage)[] = [];
  let bytes = 0;
  for (;;) {
    const step = Math.min(STEP, most - page.length);
    const found = await engine.salvageLog(name, from + page.length, step);
    if (found === undefined) return undefined;
    for (const line of found.page) bytes += typeof line === 'string' ? line.length : STEP;
    page.push(...found.page);
    const isWhole = found.page.length < step || page.length === most;
    if (isWhole || bytes >= ANSWER_BYTES) return { ...found, page, more: !isWhole };
  }
}

/** The head, records, patches and payloads of a page at once. */
export async function packedPage(
  engine: Engine,
  request: PageRequest,
  { payload, as, ...read }: CheckedRead,
): Promise<PackedPage<ByteParts>> {
  const maxBytes = Math.min(read.maxBytes, PAGE_BYTES_MAX);
  return packPage(await readPage(engine, request, { payload, as, maxBytes }));
}

function packPage({ turns, headDepth, cursor, nextDepth }: LoadedPage): PackedPage<ByteParts> {
  const packer = new TurnPacker(turns.length);
  const overlays: PackedOverlay[] = [];
  const reasons: [number, string][] = [];
  for (let index = 0; index < turns.length; index += 1) {
    const { view, bytes, reason } = turns[index] as LoadedTurn;
    packer.add(view.row, bytes !== undefined && bytes.length > PAGE_BYTES_MAX ? null : bytes);
    if (view.patch !== undefined) overlays.push(packOverlay(view, index));
    if (reason !== undefined) reasons.push([index, reason]);
  }
  return {
    turns: packer.done(),
    overlays,
    reasons,
    headDepth,
    cursor,
    nextDepth,
  };
}

function packOverlay({ patch, encoding, payload, size }: TurnView, index: number): PackedOverlay {
  return { index, patch, encoding, payload, size };
}

// Calls with many answers: the changes of a store, and work that tells of its progress.

/** Unsent changes. A reader that lags further behind is cut off, and must read the store itself when it is back. */
const QUEUE_BYTES_MAX = 8_388_608;

/**
 * The first item is `{ live: true }`: every commit after this item was sent will be reported. Each later item is `{
 * changes }`, all changes since the item before.
 */
export async function* tellChanges(
  engine: Engine,
  signal: AbortSignal,
): AsyncGenerator<unknown, void, undefined> {
  const bell = new Bell();
  const queue = new ChangeQueue(QUEUE_BYTES_MAX);
  const ring = (): void => bell.ring();
  const stop = engine.subscribe(
    (change) => {
      queue.add(change);
      bell.ring();
    },
    () => {
      queue.noteMissed();
      bell.ring();
    },
  );
  signal.addEventListener('abort', ring);
  try {
    yield { live: true };
    while (!signal.aborted) {
      const changes = queue.take();
      if (changes.length > 0) yield { changes };
      else await bell.wait();
    }
  } finally {
    stop();
    signal.removeEventListener('abort', ring);
  }
}

/** The bytes that a change costs in addition to its texts and bytes: its rows, and the object itself. */
const CHANGE_BYTES = 256;
const ROW_BYTES = 256;

/** Changes that wait for one reader, up to about `maxBytes`. */
export class ChangeQueue {
  readonly #maxBytes: number;
  #changes: Change[] = [];
  #bytes = 0;
  #missed = false;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  add(change: Change): void {
    if (this.#missed) return;
    this.#bytes += sizeOf(change);
    // A single change always fits, however large it is.
    if (this.#bytes > this.#maxBytes && this.#changes.length > 0) {
      this.noteMissed();
      return;
    }
    this.#changes.push(change);
  }

  /** Notes that some changes will never reach this queue. */
  noteMissed(): void {
    this.#missed = true;
    this.#changes = [];
  }

  /** The changes since the last call. UNAVAILABLE once some of them are missing. */
  take(): readonly Change[] {
    if (this.#missed) {
      throw new QuipuError(
        'UNAVAILABLE',
        'changes came faster than they were read; subscribe again',
        {
          what: 'subscription',
        },
      );
    }
    const taken = this.#changes;
    this.#changes = [];
    this.#bytes = 0;
    return taken;
  }
}

function sizeOf(change: Change): number {
  let bytes = CHANGE_BYTES;
  for (const delta of change.deltas) bytes += delta.bytes.length;
  for (const doc of change.docs) bytes += doc.content.length;
  for (const { meta } of change.contexts) bytes += JSON.stringify(meta).length;
  const rows = [change.contexts, change.turns, change.opened, change.sealed, change.patches];
  for (const list of [...rows, change.logs, change.docs, change.heads, change.deltas]) {
    bytes += list.length * ROW_BYTES;
  }
  return bytes;
}

const PAUSE_MS = 100;

/**
 * Turns long work into a stream: `{ progress: [done, total, what] }` a few times a second, only the newest each time,
 * and `{ result }` last. Work that has begun goes on when its caller goes away: half an erasure helps nobody.
 */
export async function* tellProgress(
  work: (progress: Progress) => Promise<unknown>,
  clock: () => number = Date.now,
): AsyncGenerator<unknown, void, undefined> {
  const bell = new Bell();
  let newest: Parameters<Progress> | undefined;
  let toldAt = Number.NEGATIVE_INFINITY;
  let isOver = false;
  const done = work((...progress) => {
    newest = progress;
    if (clock() - toldAt >= PAUSE_MS) bell.ring();
  }).finally(() => {
    isOver = true;
    bell.ring();
  });
  // The caller may be gone when the work fails, and the failure is not the server's.
  done.catch(() => undefined);
  for (;;) {
    await bell.wait();
    if (isOver) break;
    toldAt = clock();
    yield { progress: newest };
  }
  yield { result: await done };
}
