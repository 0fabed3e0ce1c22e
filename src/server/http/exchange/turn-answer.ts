import type { TurnId } from '../../../base/brand.ts';
import { jsonable } from '../../../base/jsonable.ts';
import { encodeUtf8 } from '../../../base/text.ts';
import type { ReadOptions, TurnPage } from '../../../context/contexts.ts';
import { keepNewest, keepOldest, readPage } from '../../../context/turns/read-pages.ts';
import { PAGE_BYTES_DEFAULT } from '../../../context/limits.ts';
import { toTurns } from '../../../context/turns/loaded-page.ts';
import type { Turn } from '../../../context/turn.ts';
import type { Engine } from '../../../engine/engine.ts';
import type { TurnsRead } from './schemas.ts';
import { jsonReply } from './route.ts';
import type { HttpRequest, Reply } from './route.ts';

// Turns as JSON. Small payloads are read with their records. Large payloads are read when there is room for them and
// the client takes them, so a page of any size costs a few payloads at a time.

/** A payload up to this size comes with its record. */
const SMALL_PAYLOAD_BYTES = 65_536;
/** A page with more payload bytes than this is streamed, in parts of this size. */
const PART_BYTES = 262_144;

/** The source that a page is read from. */
export interface PageSource {
  readonly read: (options: ReadOptions) => Promise<TurnPage>;
  /** The number of turns that the client asked for. */
  readonly wanted: number;
  /** The end that stays when a page is cut to its maximum of bytes. */
  readonly keeps: 'newest' | 'oldest';
}

/** The part of a turn that is kept until its part of the page is sent. */
interface Planned {
  readonly id: TurnId;
  readonly depth: number;
  readonly size: number;
}

/** The turns of a page, and the position at which the next one begins. */
interface PagePlan extends Omit<TurnPage, 'turns'> {
  readonly turns: readonly Planned[];
}

export async function pageReply(
  { read, wanted, keeps }: PageSource,
  asked: TurnsRead,
  request: HttpRequest,
): Promise<Reply> {
  const { payload = true, maxBytes = PAGE_BYTES_DEFAULT } = asked;
  if (payload === false) return jsonReply(await read(asked));
  const small = Math.min(maxBytes, PART_BYTES);
  const page = await read({ ...smallPayloads(asked), maxBytes: small });
  const hasMore = (page.cursor ?? page.nextDepth) !== undefined;
  const isCut = hasMore && page.turns.length < wanted && small < maxBytes;
  if (!isCut && !page.turns.some((turn) => isLarge(turn, asked))) return jsonReply(page);
  const bare = await read({ ...asked, payload: false });
  const parts = pageParts(
    planPage(bare, { maxBytes, keeps, limit: limitOf(asked) }),
    asked,
    request,
  );
  return { body: await begun(parts) };
}

/** Answers with one turn, whose payload is read when there is room for it. */
export async function turnReply(
  turn: Turn,
  asked: TurnsRead,
  request: HttpRequest,
): Promise<Reply> {
  if (!isLarge(turn, asked)) return jsonReply(turn);
  const pieces = wholeTurn(turn, asked, request, (found) => encodeUtf8(JSON.stringify(found)));
  return { body: await begun(pieces) };
}

/** Answers with the turns up to one as lines, oldest first, made as the client takes them. */
export async function chainReply(
  tip: TurnId,
  asked: TurnsRead,
  request: HttpRequest,
): Promise<Reply> {
  return { type: 'application/x-ndjson', body: await begun(chainLines(tip, asked, request)) };
}

async function* chainLines(
  tip: TurnId,
  asked: TurnsRead,
  request: HttpRequest,
): AsyncGenerator<Uint8Array, void, undefined> {
  const toLine = (turn: Turn): Uint8Array => encodeUtf8(`${JSON.stringify(turn)}\n`);
  for await (const turn of request.service.served.store.contexts.chain(tip, readAhead(asked))) {
    if (!isLarge(turn, asked)) yield toLine(turn);
    else yield* wholeTurn(turn, asked, request, toLine);
  }
}

/** Options to read turns that may turn out to be large. */
export function smallPayloads<R extends TurnsRead>(asked: R): Omit<R, 'payload'> & ReadOptions {
  if (asked.payload === false) return asked;
  return { ...asked, payload: Math.min(SMALL_PAYLOAD_BYTES, limitOf(asked)) };
}

/** Like `smallPayloads`, for a stream of turns. Little is held ahead of the client. */
export function readAhead<R extends TurnsRead>(asked: R): Omit<R, 'payload'> & ReadOptions {
  return { ...smallPayloads(asked), maxBytes: SMALL_PAYLOAD_BYTES };
}

/** True when the payload is wanted and was left out for its size. */
export function isLarge({ size }: { readonly size: number }, asked: TurnsRead): boolean {
  return size > SMALL_PAYLOAD_BYTES && size <= limitOf(asked);
}

/** The size up to which payloads are wanted. */
function limitOf({ payload = true }: TurnsRead): number {
  if (typeof payload === 'number') return payload;
  return payload ? Infinity : -1;
}

/** A large turn, in the bytes that `encode` makes, while the client takes them. */
export function wholeTurn(
  { id, size }: Planned,
  { as = 'latest' }: TurnsRead,
  { room, service }: HttpRequest,
  encode: (turn: Turn) => Uint8Array,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { contexts } = service.served.store;
  // Only the bytes are kept, because they wait for the client.
  return room.parts(size, () => contexts.turn(id, { as }).then((turn) => encode(turn as Turn)));
}

/** Cuts a page that was read without payloads to `maxBytes`. */
function planPage(
  page: TurnPage,
  { maxBytes, keeps, limit }: { maxBytes: number; keeps: PageSource['keeps']; limit: number },
): PagePlan {
  const { turns, headDepth } = page;
  const keep = keeps === 'newest' ? keepNewest : keepOldest;
  // A payload that is left out takes no room.
  const sizes = turns.map(({ id, depth, size }) => ({ id, depth, size: size > limit ? 0 : size }));
  const kept = keep(sizes, maxBytes);
  const [first] = kept;
  if (kept.length === turns.length || first === undefined) return { ...page, turns: kept };
  return keeps === 'newest'
    ? { turns: kept, headDepth, cursor: first.id }
    : { turns: kept, headDepth, nextDepth: first.depth + kept.length };
}

async function* pageParts(
  { turns, ...page }: PagePlan,
  asked: TurnsRead,
  request: HttpRequest,
): AsyncGenerator<Uint8Array, void, undefined> {
  let before = '{"turns":[';
  for (let at = 0; at < turns.length;) {
    const part = keepOldest(turns.slice(at), PART_BYTES);
    const size = part.reduce((sum, turn) => sum + turn.size, 0);
    const start = before;
    const encode = (found: readonly Turn[]): Uint8Array =>
      encodeUtf8(start + found.map((turn) => JSON.stringify(turn)).join(','));
    const { engine } = request.service.served;
    yield* request.room.parts(size, () => encodeTurns(engine, part, asked, encode));
    before = ',';
    at += part.length;
  }
  yield encodeUtf8(`],${JSON.stringify(jsonable(page)).slice(1)}`);
}

/** Encodes sealed turns that follow each other. */
async function encodeTurns(
  engine: Engine,
  part: readonly Planned[],
  { as = 'latest', payload = true }: TurnsRead,
  encode: (turns: readonly Turn[]) => Uint8Array,
): Promise<Uint8Array> {
  const [first, last] = [part[0], part.at(-1)];
  if (first === undefined || last === undefined) return encode([]);
  const { turns, unshared } = await readPage(
    engine,
    { kind: 'chain', tip: last.id, from: first.depth, to: last.depth + 1 },
    { payload, as, maxBytes: Number.MAX_SAFE_INTEGER },
  );
  return encode(toTurns(turns, unshared));
}

/** Makes the first piece: a failure before that is an error of the request, and not of the connection. */
export async function begun<T>(
  pieces: AsyncGenerator<T, void, undefined>,
): Promise<AsyncIterable<T>> {
  const first = await pieces.next();
  return (async function* () {
    try {
      if (first.done !== true) yield first.value;
      yield* pieces;
    } finally {
      await pieces.return();
    }
  })();
}
