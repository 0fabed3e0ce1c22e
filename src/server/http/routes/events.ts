import { z } from 'zod';
import { toTurnId } from '../../../base/brand.ts';
import type { ContextId, TurnId } from '../../../base/brand.ts';
import { jsonable } from '../../../base/jsonable.ts';
import { invalid, notFound } from '../../../base/errors.ts';
import type { FollowOptions } from '../../../context/contexts.ts';
import type { StoreEvent } from '../../../store/watch-event.ts';
import type { Turn } from '../../../context/turn.ts';
import { readOptions, contextId, flag, ofContext, readQuery } from '../exchange/schemas.ts';
import type { TurnsRead } from '../exchange/schemas.ts';
import { encodeEvent, eventReply, resumeAt } from '../exchange/event-stream.ts';
import type { SentEvent } from '../exchange/event-stream.ts';
import { route } from '../exchange/route.ts';
import type { HttpRequest, Route } from '../exchange/route.ts';
import { isLarge, readAhead, wholeTurn } from '../exchange/turn-answer.ts';

const KINDS = [
  'context.created',
  'context.updated',
  'context.removed',
  'turn.appended',
  'turn.opened',
  'turn.sealed',
  'patch.added',
  'unreadable',
] as const;

const kinds = z
  .string()
  .transform((text) => text.split(','))
  .pipe(z.array(z.enum(KINDS)));

export const eventRoutes: readonly Route[] = [
  route.get('/v1/events', {
    name: 'watchStore',
    summary: 'What happens in the whole store, as server-sent events',
    headers: { 'Last-Event-ID': 'Go on after that event, also across a restart of the server' },
    query: z.strictObject({
      context: contextId.optional().describe('Only what concerns this context'),
      kinds: kinds.optional().describe('Only these, separated by commas'),
      after: z.string().optional().describe('As Last-Event-ID'),
    }),
    answer: {
      what: 'Each event has the name of its kind and an id to go on from',
      type: 'text/event-stream',
    },
    async run({ query: { after: asked, ...filter }, request, store }) {
      const after = resumeAt(request, asked);
      const options = { signal: request.signal, ...(after !== undefined && { after }) };
      const events = store.watch(filter, options)[Symbol.asyncIterator]();
      // An invalid position is an error of the request, so it is found before the stream begins.
      const first = await events.next();
      return eventReply(toSentEvents(first, events), request);
    },
  }),

  ofContext.get('/events', {
    name: 'followContext',
    summary: 'The turns of a context, those there and those to come, as server-sent events',
    headers: { 'Last-Event-ID': 'Go on after that turn, also across a restart of the server' },
    query: z.strictObject({
      ...readQuery,
      after: z.string().optional().describe('As Last-Event-ID: a turn; "head" begins now'),
      open: flag.optional().describe('Also tell of a turn when it is opened'),
    }),
    answer: {
      what: 'Events `turn` (and `open`) with a turn, `began` after "head", `moved` with `backTo` when the head was moved and the turns after that one do not lead to it any more, `behind` with how many turns are yet to come when they are many, `end` when the context is removed',
      type: 'text/event-stream',
    },
    async run({ params: { id }, query, request, engine }) {
      const head = (await engine.getHead(id))?.head;
      if (head === undefined) throw notFound('context', id);
      const after = resumeAt(request, query.after);
      const from = {
        signal: request.signal,
        after: after === 'head' ? head : toAfter(after),
        openTurns: query.open ?? false,
      };
      const began = after === 'head' ? head : undefined;
      return eventReply(followed(request, id, { ...from, ...readOptions(query) }, began), request);
    },
  }),
];

async function* toSentEvents(
  first: IteratorResult<StoreEvent>,
  rest: AsyncIterator<StoreEvent>,
): AsyncGenerator<SentEvent, void, undefined> {
  try {
    for (let next = first; next.done !== true; next = await rest.next()) {
      const { id, kind, ...data } = next.value;
      yield { id, event: kind, data: jsonable(data) };
    }
  } finally {
    await rest.return?.();
  }
}

/** A client can continue only from a sealed turn: a turn reported as open comes again. */
async function* followed(
  request: HttpRequest,
  id: ContextId,
  options: FollowOptions & TurnsRead,
  began: TurnId | undefined,
): AsyncGenerator<SentEvent | Uint8Array, void, undefined> {
  // A client that began now and is cut off before the first turn must come back to this position.
  if (began !== undefined) yield { id: String(began), event: 'began', data: {} };
  let behind = 0;
  const onBehind = (turns: number): void => {
    behind = turns;
  };
  const { contexts } = request.service.served.store;
  const plan = { ...readAhead(options), onBehind, moves: true } as const;
  for await (const turn of contexts.follow(id, plan)) {
    if ('backTo' in turn) {
      yield { id: String(turn.backTo), event: 'moved', data: turn };
      continue;
    }
    if (behind > 0) yield { event: 'behind', data: { turns: behind } };
    behind = 0;
    if (!isLarge(turn, options)) yield toTurnEvent(turn);
    else {
      yield* wholeTurn(turn, options, request, (found) => encodeEvent(toTurnEvent(found)));
    }
  }
}

function toTurnEvent(turn: Turn): SentEvent {
  if (turn.state === 'open') return { event: 'open', data: turn };
  return { id: String(turn.id), event: 'turn', data: turn };
}

function toAfter(text: string | undefined): NonNullable<FollowOptions['after']> {
  if (text === undefined) return toTurnId(0, true);
  if (!/^\d{1,16}$/.test(text)) throw invalid('after', 'must be the id of a turn, or "head"');
  return toTurnId(BigInt(text), true);
}
