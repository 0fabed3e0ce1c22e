import type { Hash, TurnId } from '../base/brand.ts';
import type { LoadedPage, LoadedTurn, ReadPage } from '../context/turns/loaded-page.ts';
import type { TurnView } from '../context/turn.ts';
import type { PatchRow, TurnRow } from '../engine/rows.ts';
import type { StoreElsewhere } from '../store/store.ts';
import { unpackTurns } from '../wire/packed-turns.ts';
import type { PackedOverlay, PackedPage } from '../wire/packed-turns.ts';
import type { RemoteEngine } from './remote-engine.ts';
import { leavable } from '../base/leavable.ts';
import { setTimeout } from 'node:timers/promises';
import { checkSignal, toWhole } from '../base/check-value.ts';
import { isQuipuError, unsupported } from '../base/errors.ts';
import type {
  NewEvent,
  OpenQueueOptions,
  PeekOptions,
  PopOptions,
  Queue,
  QueueEvent,
  QueueFollowOptions,
  Queues,
} from '../queue/events/queue.ts';
import { QUEUE_METHODS } from '../wire/calls.ts';
import type { QueueMethod } from '../wire/calls.ts';

/** The verbs that a store over this engine leaves to the server. */
export function remoteVerbs(engine: RemoteEngine): StoreElsewhere {
  const readPage: ReadPage = async (request, read) => {
    const page = await engine.call<PackedPage>('contexts.page', [request, read]);
    return unpackPage(page, (hash) => engine.getBlob(hash));
  };
  return {
    readPage,
    gc: ({ progress, ...options } = {}) => engine.work('maintain.gc', [options], progress),
    retain: (policy, { dryRun }) => engine.work('maintain.retain', [policy, dryRun]),
    eraseTurn: (turn, options) => engine.work('contexts.erase', [turn, options]),
    eraseBlob: (ref, options) => engine.work('blobs.erase', [ref, options]),
    search: (query, { progress, ...options } = {}) =>
      engine.work('store.search', [query, options], progress),
  };
}

type FetchBlob = (hash: Hash) => Promise<Uint8Array | undefined>;

/** `fetchBlob` gets the payloads that were too large for the page. */
async function unpackPage(page: PackedPage, fetchBlob: FetchBlob): Promise<LoadedPage> {
  const overlays = new Map(page.overlays.map((overlay) => [overlay.index, overlay]));
  const reasons = new Map(page.reasons);
  const turns: LoadedTurn[] = [];
  const apart: number[] = [];
  unpackTurns(page.turns, (row, payload) => {
    const index = turns.length;
    const view = unpackView(toTurnRow(row), overlays.get(index));
    if (payload === null) apart.push(index);
    turns.push({ view, bytes: payload ?? undefined, reason: reasons.get(index) });
  });
  for (const index of apart) turns[index] = await fetchTurn(turns[index] as LoadedTurn, fetchBlob);
  const { cursor, nextDepth, headDepth } = page;
  return { turns, headDepth, unshared: true, cursor: cursor as TurnId | undefined, nextDepth };
}

/** Does not compile when a row lacks a field of a turn. Only the types of ids differ. */
function toTurnRow(row: { readonly [Name in keyof TurnRow]: unknown }): TurnRow {
  return row as TurnRow;
}

async function fetchTurn(turn: LoadedTurn, fetchBlob: FetchBlob): Promise<LoadedTurn> {
  const { payload } = turn.view;
  return payload === undefined ? turn : { ...turn, bytes: await fetchBlob(payload) };
}

function unpackView(row: TurnRow, overlay: PackedOverlay | undefined): TurnView {
  if (overlay === undefined) {
    return { row, encoding: row.encoding, payload: row.payload, size: row.size, patch: undefined };
  }
  const { encoding, payload, size, patch } = overlay;
  return { row, encoding, payload: payload as Hash | undefined, size, patch: patch as PatchRow };
}

/** The interval at which a remote follower looks for new events. */
const POLL_MS = 250;

type Caller = Pick<RemoteEngine, 'call'>;

/** The queues of a server. A push is sent once: when its answer is lost, its outcome is unknown. */
export function remoteQueues(engine: Caller): Queues {
  return {
    async open(name: string, { create = true }: OpenQueueOptions = {}): Promise<Queue> {
      await engine.call(create ? 'queues.create' : 'queues.info', [name]);
      return remoteQueue(engine, name);
    },
    list: () => engine.call('queues.list', []),
    async work(): Promise<void> {
      const message =
        'a client runs no handlers; open the postgres:// address of the database where they are to run';
      throw unsupported('queues.work', 'queues of a server', message);
    },
  };
}

/** Each method of a queue is the call of that name, with the name of the queue before its arguments. */
function remoteQueue(engine: Caller, name: string): Queue {
  const sends = QUEUE_METHODS.map((method) => [
    method,
    (...args: readonly unknown[]) => engine.call(`queues.${method}`, [name, ...args]),
  ]);
  const sent = Object.fromEntries(sends) as Pick<Queue, QueueMethod>;
  const queue = {
    ...sent,
    // An event of another queue has more fields, and may be pushed as it is.
    push: async (event: NewEvent) => sent.push(toNew(event)),
    pushBatch: async (events: readonly NewEvent[]) =>
      sent.pushBatch(Array.isArray(events) ? events.map(toNew) : events),
    // On the wire an event's id is a number.
    pop: async (consumer: string, options: PopOptions) => sent.pop(consumer, withNumber(options)),
    peek: async (options: PeekOptions) => sent.peek(withNumber(options)),
  };
  return {
    ...queue,
    follow: (options = {}) =>
      leavable(checkSignal(options.signal), (signal) => follow(queue, { ...options, signal })),
  };
}

/** The fields that a queue stores. The server refuses others, as it does everywhere. */
function toNew(event: NewEvent): NewEvent {
  if (typeof event !== 'object' || event === null) return event;
  const { source, type, subtype, content } = event;
  return { source, type, content, ...(subtype !== undefined && { subtype }) };
}

function withNumber<O extends PeekOptions>(options: O): O {
  return { ...options, lastEventId: toWhole(options.lastEventId, 'last event id') };
}

/** Looks for new events at intervals. Ends when the store closes. */
async function* follow(
  queue: Pick<Queue, 'peek'>,
  options: QueueFollowOptions & { readonly signal: AbortSignal },
): AsyncGenerator<QueueEvent, void, undefined> {
  const { filter, signal } = options;
  let { lastEventId = 0 } = options;
  const isOver = (): boolean => signal.aborted;
  for (let first = true; !isOver(); first = false) {
    const given = { lastEventId, ...(filter !== undefined && filter !== null && { filter }) };
    let events: readonly QueueEvent[];
    try {
      events = await queue.peek(given);
    } catch (error) {
      if (!first && isQuipuError(error, 'CLOSED')) return;
      throw error;
    }
    for (const event of events) {
      if (isOver()) return;
      yield event;
      lastEventId = event.id;
    }
    if (events.length > 0) continue;
    try {
      await setTimeout(POLL_MS, undefined, { signal });
    } catch {
      // The caller aborted.
      return;
    }
  }
}
