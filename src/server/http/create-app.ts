import { randomUUID } from 'node:crypto';
import type { HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { Hono } from 'hono';
import type { Context as HonoContext } from 'hono';
import { QuipuError, invalid } from '../../base/errors.ts';
import { assertAllowed } from '../access/access.ts';
import type { Identity } from '../access/access.ts';
import { cxdbFaces } from './routes/create-routes.ts';
import { cxdbErrorReply, speaksCxdb } from './cxdb/face.ts';
import { checkInput, errorReply, toErrorJson, bearerOf, noRoute } from './exchange/route.ts';
import type { HttpService, Exchange, HttpRequest, Reply, Route } from './exchange/route.ts';
import { Pace, RequestRoom } from './exchange/answer-room.ts';
import { parseJson, readBody } from './exchange/read-body.ts';
import { sendReply } from './send-reply.ts';
import type { IncomingMessage } from 'node:http';

interface Env {
  Bindings: HttpBindings;
}

const REQUEST_ID = /^[\w.-]{1,128}$/;
const STREAMED: ReadonlySet<string> = new Set([
  'application/octet-stream',
  'application/x-ndjson',
  'text/event-stream',
]);
const NOBODY: Identity = { name: 'nobody', scope: 'read' };

/** The rules for all requests of one port. */
export interface PortRules extends GuardRules {
  /** Every answer is in cxdb's words, errors, too. */
  readonly isCxdb: boolean;
}

export function createApp(
  routes: readonly Route[],
  service: HttpService,
  rules: PortRules,
): Hono<Env> {
  const app = new Hono<Env>();
  const faces = new Map(cxdbFaces.map((route) => [keyOf(route), route]));
  for (const route of routes) {
    const face = faces.get(keyOf(route)) ?? route;
    app.on(route.method.toUpperCase(), route.path, (context) => {
      const isFaced =
        face !== route && speaksCxdb((name) => context.req.header(name), context.req.queries());
      return answer(context, service, rules, isFaced ? face : route);
    });
  }
  app.notFound((context) => answer(context, service, rules));
  return app;
}

function keyOf({ method, path }: Route): string {
  return `${method} ${path}`;
}

/** Handles one request from its first check to its line in the log. Never throws. */
async function answer(
  context: HonoContext<Env>,
  service: HttpService,
  rules: PortRules,
  route?: Route,
): Promise<Response> {
  const { incoming, outgoing } = context.env;
  const { socket } = incoming;
  const startedMs = performance.now();
  const given = incoming.headers['x-request-id'];
  const id = typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID();
  const pace = new Pace(outgoing, service.turns);
  const facts: Facts = { id, caller: NOBODY.name, pace };
  let reply: Reply;
  let message = 'refused';
  try {
    guardRequest(incoming, rules);
    if (incoming.method === 'OPTIONS' && incoming.headers.origin !== undefined) {
      reply = { status: 204, headers: PREFLIGHT_HEADERS };
    } else if (route === undefined) throw noRoute(incoming.method, context.req.path);
    else {
      // While the handler works, nothing moves on the socket. That is not a stall.
      reply = await carryOut(context, service, route, facts);
    }
  } catch (error) {
    if (!(error instanceof QuipuError)) service.log.error({ id, err: error }, 'a request failed');
    ({ message } = toErrorJson(error).error);
    const hadIfMatch = incoming.headers['if-match'] !== undefined;
    reply = rules.isCxdb
      ? cxdbErrorReply(error, incoming.method !== 'GET')
      : errorReply(error, { hadIfMatch, invalidStatus: route?.invalidStatus });
  }
  socket.setTimeout(service.limits.stallMs);
  const ms = performance.now() - startedMs;
  const { status = 200 } = reply;
  service.metrics.request({
    protocol: 'http',
    kind: kindOf(context, service, route),
    ms,
    ok: status < 400,
  });
  if (status >= 400) {
    service.metrics.recent.failed({ protocol: 'http', status, message, path: context.req.path });
  }
  const { method } = incoming;
  service.log.info(
    {
      id,
      method,
      path: context.req.path,
      status,
      ms: Math.round(ms * 100) / 100,
      caller: facts.caller,
    },
    'request',
  );
  const headers = { ...reply.headers, ...corsHeaders(incoming, rules), 'X-Request-Id': id };
  if (service.stopping.aborted) Object.assign(headers, { Connection: 'close' });
  try {
    await sendReply({ ...reply, headers }, incoming, outgoing, pace);
  } catch (error) {
    if (!outgoing.destroyed) service.log.warn({ id, err: error }, 'an answer broke off');
    // A partial answer must not look complete.
    socket.destroy();
  }
  return RESPONSE_ALREADY_SENT;
}

/** Uses only names from a fixed set: names that clients make up would fill the memory of the metrics. */
function kindOf(
  context: HonoContext<Env>,
  { calls }: HttpService,
  route: Route | undefined,
): string {
  const method = context.req.param('method');
  if (method !== undefined && calls.has(method)) return `CALL ${method}`;
  return route?.name ?? 'unknown';
}

interface Facts {
  readonly id: string;
  readonly pace: Pace;
  /** Set once the caller is identified. */
  caller: string;
}

async function carryOut(
  context: HonoContext<Env>,
  service: HttpService,
  route: Route,
  facts: Facts,
): Promise<Reply> {
  const { incoming, outgoing } = context.env;
  const identity = await identify(service, route, incoming.headers.authorization);
  facts.caller = identity.name;
  const gone = new AbortController();
  const abort = (): void => gone.abort();
  // A stream must not outlive the server, nor the token that opened it.
  const ends = [service.stopping, identity.ended].filter((signal) => signal !== undefined);
  for (const signal of ends) signal.addEventListener('abort', abort);
  outgoing.once('close', () => {
    for (const signal of ends) signal.removeEventListener('abort', abort);
    abort();
  });
  if (ends.some((signal) => signal.aborted)) abort();
  const { signal } = gone;
  const room = new RequestRoom(service.room, { pace: facts.pace, signal });
  const request: HttpRequest = {
    service,
    identity,
    signal,
    incoming,
    room,
    header: (name) => context.req.header(name),
  };
  const exchange: Exchange<unknown, unknown, unknown> = {
    params: checkInput(route.params, context.req.param(), 'path'),
    query: checkInput(route.query, queryOf(context), 'query'),
    body: await readInput(route, request),
    request,
    ...service.served,
  };
  incoming.socket.setTimeout(isStreamedIn(route, request) ? service.limits.stallMs : 0);
  const run = (): Promise<Reply> | Reply => route.run(exchange);
  return room.whole(await (isMadeWhole(route) ? room.make(run) : run()));
}

/** True for a read whose answer is made as a whole. Nobody knows its size beforehand. */
function isMadeWhole({ method, needs, answer: { type = '' } }: Route): boolean {
  return method === 'get' && needs !== 'nobody' && !STREAMED.has(type);
}

async function identify(
  { access }: HttpService,
  route: Route,
  authorization: string | undefined,
): Promise<Identity> {
  if (route.needs === 'nobody') return NOBODY;
  const identity = await access.identify(bearerOf(authorization));
  if (identity === undefined) {
    throw new QuipuError(
      'UNAUTHORIZED',
      'a token is needed: send Authorization: Bearer <token>',
      {},
    );
  }
  assertAllowed(identity, route.needs);
  return identity;
}

function queryOf(context: HonoContext<Env>): Record<string, string> {
  const query: Record<string, string> = {};
  for (const [name, values] of Object.entries(context.req.queries())) {
    const [value, ...others] = values;
    if (value === undefined || others.length > 0)
      throw invalid(name, 'is given more than once; give it once');
    query[name] = value;
  }
  return query;
}

async function readInput(route: Route, request: HttpRequest): Promise<unknown> {
  const { body } = route;
  if (body?.json === undefined || isStreamedIn(route, request)) return undefined;
  const bytes = await readBody(request, request.service.limits.bodyBytes);
  if (bytes.length === 0 && body.optional === true) return checkInput(body.json, {}, 'body');
  return checkInput(body.json, parseJson(bytes), 'body');
}

/** True when the handler reads the body itself. */
function isStreamedIn({ body }: Route, request: HttpRequest): boolean {
  if (body?.bytes === undefined) return false;
  return body.json === undefined || !isJson(request.header('content-type'));
}

/** True also when no type is given, as by a client that did not think of it. */
function isJson(type: string | undefined): boolean {
  return type === undefined || /^application\/(?:[\w.+-]+\+)?json\b/i.test(type);
}

// Refuses requests before anything else looks at them: tricks with the path, and web pages that were made to talk to a
// server of another site.

export interface GuardRules {
  /** Where no token protects the store, the server answers only to names of this machine. */
  readonly loopbackHostsOnly: boolean;
  /** Origins of web pages that may send requests, such as `https://app.example`. */
  readonly origins: readonly string[];
}

/** Headers of requests and answers of durable streams. */
const STREAM_ASKED =
  'Stream-Seq, Stream-TTL, Stream-Expires-At, Stream-Closed, Stream-Forked-From, Stream-Fork-Offset, Stream-Fork-Sub-Offset, Producer-Id, Producer-Epoch, Producer-Seq';
const STREAM_ANSWERED =
  'Stream-Next-Offset, Stream-Cursor, Stream-Up-To-Date, Stream-Closed, Stream-TTL, Stream-Expires-At, Stream-SSE-Data-Encoding, Producer-Epoch, Producer-Seq, Producer-Expected-Seq, Producer-Received-Seq';

const ESCAPED_TRICK = /%(?:00|2e|2f|5c)/i;
const LOOPBACK_NAME = /^(?:localhost|.+\.localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;

export function guardRequest(incoming: IncomingMessage, rules: GuardRules): void {
  const [path = ''] = (incoming.url ?? '').split('?');
  if (
    !path.startsWith('/') ||
    /[\\\0]|\/\/|\/\.{1,2}(?:\/|$)/.test(path) ||
    ESCAPED_TRICK.test(path) ||
    !isText(path)
  ) {
    throw invalid('path', 'is not a path of this server; /openapi.json lists them');
  }
  const { host = '', origin, 'sec-fetch-site': site } = incoming.headers;
  // A page of another site whose name was pointed at this machine still sends that name.
  if (rules.loopbackHostsOnly && !LOOPBACK_NAME.test(host)) {
    throw new QuipuError(
      'FORBIDDEN',
      `this server does not answer to the name "${clip(host)}"; use localhost, or give the server tokens`,
      {
        scope: 'host',
      },
    );
  }
  if (origin === undefined) {
    // A picture, a form or a link on a page names no origin, but a browser says that the page is of another site.
    if (site === 'cross-site') throw refusedPage('another site');
    // Behind a proxy that changes the name of the host, the browser's word tells the server's own page from others.
  } else if (site !== 'same-origin' && !isOwn(origin, host) && !rules.origins.includes(origin)) {
    throw refusedPage(`"${clip(origin)}"`);
  }
}

function refusedPage(of: string): QuipuError<'FORBIDDEN'> {
  return new QuipuError(
    'FORBIDDEN',
    `pages of ${of} may not use this server; to allow them, start it with --allow-origin`,
    { scope: 'origin' },
  );
}

/** Headers that let a page of an allowed origin read the answer. */
export function corsHeaders(
  incoming: IncomingMessage,
  rules: GuardRules,
): Readonly<Record<string, string>> {
  const { origin } = incoming.headers;
  if (origin === undefined || !rules.origins.includes(origin)) return {};
  return {
    'Access-Control-Allow-Origin': origin,
    'Access-Control-Expose-Headers': `ETag, Location, X-Request-Id, ${STREAM_ANSWERED}`,
    Vary: 'Origin',
  };
}

/** The answer to the preflight request of a browser. */
export const PREFLIGHT_HEADERS: Readonly<Record<string, string>> = {
  'Access-Control-Allow-Methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
  'Access-Control-Allow-Headers': `Authorization, Content-Type, If-Match, If-None-Match, Idempotency-Key, Last-Event-ID, Range, X-Request-Id, ${STREAM_ASKED}`,
  'Access-Control-Max-Age': '600',
};

/** False for escapes that are no UTF-8. The router leaves them as they are, so `%ff` would mean the same as `%25ff`. */
function isText(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}

function isOwn(origin: string, host: string): boolean {
  return origin === `http://${host}` || origin === `https://${host}`;
}

function clip(text: string): string {
  return text.slice(0, 100);
}
