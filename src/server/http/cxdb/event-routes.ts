import { given } from '../../../base/given.ts';
import { setImmediate as nextTurn } from 'node:timers/promises';
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
import type { LiveSessions, ServerNews } from '../../metrics/live-sessions.ts';
import type { FailedRequest } from '../../metrics/recent-requests.ts';
import { describeContexts } from './context-facts.ts';
import type { ContextFacts } from './context-facts.ts';

// Events in the form of cxdb. Its page asks for the whole store, and hears of sessions and errors of the server, too. Of
// a context alone it asks at another path.

/** Contexts that the end of a session names: the newest ones. */
const CONTEXTS_TOLD_MAX = 1000;

const answer = {
  what: '`connected`, then `context_created`, `context_metadata_updated`, `context_linked`, `turn_appended`; of the whole store also `client_connected`, `client_disconnected`, `error_occurred`',
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
  const { served, metrics } = service;
  const filter = context === undefined ? {} : { context };
  const events = served.store.watch(filter, { signal })[Symbol.asyncIterator]();
  // Nothing is missed from here on.
  await events.next();
  const sources = context === undefined ? [events, metrics.sessions.follow(signal)] : [events];
  return eventReply(inItsWords(sources, served.engine, metrics.sessions), request);
}

async function* inItsWords(
  sources: readonly AsyncIterator<StoreEvent | ServerNews>[],
  engine: Engine,
  sessions: LiveSessions,
): AsyncGenerator<SentEvent, void, undefined> {
  yield { event: 'connected', data: {} };
  for await (const event of together(sources)) {
    if (event.kind === 'request.failed') yield toFailed(event.request);
    else if ('session' in event) yield toSession(event);
    else yield* toSent(event, engine, sessions);
  }
}

/** The items of several sources as they come, until the first source ends. */
async function* together<T>(sources: readonly AsyncIterator<T>[]): AsyncGenerator<T, void> {
  const read = async (source: AsyncIterator<T>) => ({ source, result: await source.next() });
  const reads = new Map(sources.map((source) => [source, read(source)]));
  try {
    for (;;) {
      const { source, result } = await Promise.race(reads.values());
      if (result.done === true) return;
      reads.set(source, read(source));
      yield result.value;
    }
  } finally {
    await Promise.all(sources.map(async (source) => source.return?.()));
  }
}

function toFailed({ atMs, protocol, status, message, path }: FailedRequest): SentEvent {
  const failed = { timestamp_ms: atMs, kind: protocol, status_code: status, message };
  return { event: 'error_occurred', data: { ...failed, ...given({ path }) } };
}

function toSession({ kind, session }: Extract<ServerNews, { session: unknown }>): SentEvent {
  const who = { session_id: session.id, client_tag: session.tag };
  if (kind === 'session.opened') return { event: 'client_connected', data: who };
  const contexts = [...session.contexts].slice(-CONTEXTS_TOLD_MAX).map(String);
  return { event: 'client_disconnected', data: { ...who, contexts } };
}

async function* toSent(
  event: StoreEvent,
  engine: Engine,
  sessions: LiveSessions,
): AsyncGenerator<SentEvent, void> {
  if (event.kind === 'context.created') {
    const { id, createdAt } = event.context;
    const { tag = '' } = (await factsOf(engine, id)) ?? {};
    // The commit is acknowledged in this turn of the event loop, and then the maker is known.
    await nextTurn();
    const data = {
      context_id: String(id),
      session_id: sessions.makerOf(id)?.id ?? '',
      client_tag: tag,
      created_at: createdAt,
    };
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
