import { given } from '../../../base/given.ts';
import { z } from 'zod';
import { NO_TURN } from '../../../base/brand.ts';
import type { ContextId } from '../../../base/brand.ts';
import type { Engine } from '../../../engine/engine.ts';
import type { StoreEvent } from '../../../store/watch-event.ts';
import { eventReply } from '../exchange/event-stream.ts';
import type { SentEvent } from '../exchange/event-stream.ts';
import { route } from '../exchange/route.ts';
import type { HttpRequest, Reply, Route } from '../exchange/route.ts';
import { ofContext } from '../exchange/schemas.ts';
import { describeContexts } from './context-facts.ts';
import type { ContextFacts } from './context-facts.ts';

// Events in the form of cxdb. Its page asks for the whole store; of a context alone it asks at another path.
// Nothing tells of connections: they are no sessions here.

const answer = {
  what: '`connected`, then `context_created`, `context_metadata_updated`, `context_linked`, `turn_appended`',
  type: 'text/event-stream',
} as const;

/** On paths that are also ours. */
export const eventFaces: readonly Route[] = [
  route.get('/v1/events', {
    name: 'watchCxdbStore',
    summary: 'What happens in the store, in the words of cxdb',
    query: z.object({}),
    answer,
    run: ({ request }) => watch(request),
  }),
  ofContext.get('/events', {
    name: 'watchCxdbContext',
    summary: 'What happens in a context, in the words of cxdb',
    query: z.object({}),
    answer,
    run: ({ params: { id }, request }) => watch(request, id),
  }),
];

async function watch(request: HttpRequest, context?: ContextId): Promise<Reply> {
  const { signal, service } = request;
  const filter = context === undefined ? {} : { context };
  const events = service.served.store.watch(filter, { signal })[Symbol.asyncIterator]();
  // Nothing is missed from here on.
  await events.next();
  return eventReply(inItsWords(events, service.served.engine), request);
}

async function* inItsWords(
  events: AsyncIterator<StoreEvent>,
  engine: Engine,
): AsyncGenerator<SentEvent, void, undefined> {
  try {
    yield { event: 'connected', data: {} };
    for (let next = await events.next(); next.done !== true; next = await events.next()) {
      yield* toSent(next.value, engine);
    }
  } finally {
    await events.return?.();
  }
}

async function* toSent(event: StoreEvent, engine: Engine): AsyncGenerator<SentEvent, void> {
  if (event.kind === 'context.created') {
    const { id, createdAt } = event.context;
    const { tag = '' } = (await factsOf(engine, id)) ?? {};
    const data = { context_id: String(id), session_id: '', client_tag: tag, created_at: createdAt };
    yield { event: 'context_created', data };
  } else if (event.kind === 'turn.appended' || event.kind === 'turn.sealed') {
    const { id, context, parent, depth, type, version } = event.turn;
    const data = {
      context_id: String(context),
      turn_id: String(id),
      parent_turn_id: String(parent),
      depth,
      declared_type_id: type,
      declared_type_version: version,
    };
    yield { event: 'turn_appended', data };
    // The first turn of a context says what the context is.
    if (parent === NO_TURN) yield* described(engine, context);
  }
}

async function* described(engine: Engine, id: ContextId): AsyncGenerator<SentEvent, void> {
  const facts = await factsOf(engine, id);
  if (facts === undefined) return;
  const { tag, title, labels, provenance } = facts;
  if (tag === undefined && title === undefined && provenance === undefined) return;
  yield {
    event: 'context_metadata_updated',
    data: {
      context_id: String(id),
      ...given({ client_tag: tag, title, labels }),
      has_provenance: provenance !== undefined,
    },
  };
  const {
    parent_context_id: parent,
    root_context_id: root,
    spawn_reason: reason,
  } = provenance ?? {};
  if (typeof parent !== 'number') return;
  yield {
    event: 'context_linked',
    data: {
      child_context_id: String(id),
      parent_context_id: String(parent),
      ...(typeof root === 'number' && { root_context_id: String(root) }),
      ...(typeof reason === 'string' && { spawn_reason: reason }),
    },
  };
}

/** Undefined when the context was removed meanwhile. */
async function factsOf(engine: Engine, id: ContextId): Promise<ContextFacts | undefined> {
  const row = await engine.getContext(id);
  const [found] = row === undefined ? [] : await describeContexts(engine, [row]);
  return found?.facts;
}
