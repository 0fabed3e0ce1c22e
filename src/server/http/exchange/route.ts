import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import type { Identity, Needed, Access } from '../../access/access.ts';
import type { Served, CallTable } from '../../calls/call-handler.ts';
import type { Checked } from '../../calls/check-args.ts';
import type { RequestRoom, AnswerRoom, Turns } from './answer-room.ts';
import type { SignIn } from '../../access/token-access.ts';
import type { Log } from '../../log/log.ts';
import type { ByteBudget } from '../../memory/byte-budget.ts';
import type { Metrics } from '../../metrics/create-metrics.ts';
import type { Families } from '../../browse/branch-tree.ts';
import type { RecentThreads } from '../../browse/recent-threads.ts';
import type { Streams } from '../../../stream/streams.ts';
import type { StreamBells } from '../../streams/stream-messages.ts';
import { type QuipuError, invalid, isQuipuError, notFound } from '../../../base/errors.ts';
import { TOO_MANY, WIRE_CODE, safeDetail } from '../../../wire/error-message.ts';

// A route declares its input and output before its work. The schemas that check the input also describe it in
// /openapi.json, so the description cannot lag behind.

/** The request that a handler gets in addition to its checked input. */
export interface HttpRequest {
  readonly service: HttpService;
  readonly identity: Identity;
  /** Aborts when the client is gone or the server stops. */
  readonly signal: AbortSignal;
  readonly incoming: IncomingMessage;
  /** The memory that the answer takes. */
  readonly room: RequestRoom;
  header(name: string): string | undefined;
}

export interface Reply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default `application/json`. */
  readonly type?: string;
  /** JSON and text are compressed if the client accepts that; an iterable is sent as it is pulled. */
  readonly body?: string | Uint8Array | AsyncIterable<Uint8Array>;
}

export type InputObject = z.ZodObject<Record<string, z.ZodType>>;

/** JSON of this schema, bytes of any length, or either: then the body is bytes when the type is not JSON. */
export interface RouteBody<B extends z.ZodType = z.ZodType> {
  readonly json?: B;
  readonly bytes?: string;
  readonly optional?: boolean;
  readonly example?: unknown;
}

export interface RouteAnswer {
  /** The status of every reply that says no other. Default 200. */
  readonly status?: number;
  readonly what: string;
  /** Absent when the answer is bytes or events, described by `type`. */
  readonly json?: z.ZodType;
  readonly type?: string;
  /** Default: the example of the schema, or one made of the examples of its parts. */
  readonly example?: unknown;
}

/** Examples of schemas. */
export const EXAMPLES: z.core.$ZodRegistry<object> = z.registry<object>();

function exampleOf(schema: unknown): unknown {
  const own = schema instanceof z.ZodType ? EXAMPLES.get(schema) : undefined;
  if (own !== undefined) return own;
  if (schema instanceof z.ZodArray) {
    const item = exampleOf(schema.element);
    return item === undefined ? undefined : [item];
  }
  if (!(schema instanceof z.ZodObject)) return undefined;
  const parts = Object.entries(schema.shape).map(([name, part]) => [name, exampleOf(part)]);
  const known = parts.filter(([, part]) => part !== undefined);
  return known.length === 0 ? undefined : Object.fromEntries(known);
}

export interface Exchange<P, Q, B> extends Served {
  readonly params: P;
  readonly query: Q;
  /** Undefined when the body is bytes; `request.incoming` has them. */
  readonly body: B;
  readonly request: HttpRequest;
}

interface RouteWords {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  readonly path: string;
  readonly name: string;
  readonly summary: string;
  /** `nobody`: the route does not ask who is calling. */
  readonly needs: Needed | 'nobody';
  readonly headers?: Readonly<Record<string, string>>;
  /** The status of the answer to input that is not as it must be. Default 422. */
  readonly invalidStatus?: number;
  readonly answer: RouteAnswer;
}

type ExchangeOf<P extends InputObject, Q extends InputObject, B extends z.ZodType> = Exchange<
  Checked<z.output<P>>,
  Checked<z.output<Q>>,
  Checked<z.output<B>>
>;

/** A route without its method and path. */
export type RouteGiven<P extends InputObject, Q extends InputObject, B extends z.ZodType> = Omit<
  RouteWords,
  'method' | 'path' | 'needs'
> & {
  /** Default: `read` for a GET, `write` for everything else. */
  readonly needs?: RouteWords['needs'];
  readonly query?: Q;
  readonly body?: RouteBody<B>;
} & (
    | { run(exchange: ExchangeOf<P, Q, B>): Promise<Reply> | Reply }
    /** Makes the value that the answer has as JSON, or none for an answer without a body. */
    | { give(exchange: ExchangeOf<P, Q, B>): unknown }
  );

/** A route among others. */
export interface Route extends RouteWords {
  readonly params: InputObject;
  readonly query: InputObject;
  readonly body: RouteBody | undefined;
  run(exchange: Exchange<unknown, unknown, unknown>): Promise<Reply> | Reply;
}

type Nothing = z.ZodObject<Record<never, z.ZodType>>;
const NOTHING: Nothing = z.strictObject({});

type Shape = Readonly<Record<string, z.ZodType>>;
type NamesIn<Path> = Path extends `${string}:${infer Rest}`
  ? Rest extends `${infer Name}/${infer More}`
    ? Bare<Name> | NamesIn<`/${More}`>
    : Bare<Rest>
  : never;
type Bare<Name> = Name extends `${infer Before}{${string}` ? Before : Name;
/** The parameters of a path: those that have no schema are texts. */
type ParamsIn<Path, Known extends Shape> = z.ZodObject<{
  [Name in NamesIn<Path> & string]: Name extends keyof Known ? Known[Name] : z.ZodString;
}>;

type Define<Prefix extends string, Known extends Shape> = <
  const Path extends string,
  Q extends InputObject = Nothing,
  B extends z.ZodType = z.ZodUndefined,
>(
  path: Path,
  given: RouteGiven<ParamsIn<`${Prefix}${Path}`, Known>, Q, B>,
) => Route;

export type RoutesAt<Prefix extends string, Known extends Shape> = Readonly<
  Record<RouteWords['method'], Define<Prefix, Known>>
>;

/**
 * Defines the routes whose paths begin with `prefix`, by method: `routesAt('/v1/turns/:id', { id: turnId }).get('/chain',
 * …)`. `known` has the schemas of parameters. A path is written as Hono writes it, with `:name{.+}` for all of the rest.
 */
export function routesAt<const Prefix extends string, Known extends Shape>(
  prefix: Prefix,
  known: Known,
): RoutesAt<Prefix, Known> {
  const by =
    (method: RouteWords['method']): Define<Prefix, Known> =>
    (path, given) =>
      toRoute(method, `${prefix}${path}`, known, given as AnyGiven);
  return {
    get: by('get'),
    post: by('post'),
    put: by('put'),
    patch: by('patch'),
    delete: by('delete'),
  };
}

type AnyGiven = RouteGiven<InputObject, InputObject, z.ZodType>;

function toRoute(method: RouteWords['method'], path: string, known: Shape, given: AnyGiven): Route {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name);
  const { query = NOTHING, body, answer } = given;
  return {
    needs: method === 'get' ? 'read' : 'write',
    ...given,
    method,
    path,
    answer: { example: exampleOf(answer.json), ...answer },
    params: z.strictObject(
      Object.fromEntries(names.map((name) => [name, known[name] ?? z.string()])),
    ),
    query,
    body,
    async run(exchange) {
      const checked = exchange as ExchangeOf<InputObject, InputObject, z.ZodType>;
      const reply =
        'run' in given ? await given.run(checked) : jsonReply(await given.give(checked));
      return { status: answer.status ?? 200, ...reply };
    },
  };
}

/** Routes whose paths have no parameters, or only texts. */
export const route: RoutesAt<'', Record<never, never>> = routesAt('', {});

/** The token, or the one-time code, of an Authorization header. */
export function bearerOf(authorization: string | undefined): string | undefined {
  return /^bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
}

export function jsonReply(value: unknown, more: Omit<Reply, 'body' | 'type'> = {}): Reply {
  return { ...more, body: JSON.stringify(value) };
}

/** Limits on the cost of one client. */
export interface HttpLimits {
  /** The bytes of a request's body, except where the body is stored as it comes in. */
  readonly bodyBytes: number;
  readonly connections: number;
  /** Bytes of large answers in progress for all clients together. A single answer may be larger than this. */
  readonly answerBytes: number;
  /**
   * The time for the headers of a request to arrive, also of the first one. A client that says nothing is cut off after
   * this, too.
   */
  readonly headersMs: number;
  /** A client is cut off when it sends no more of its body, or takes no more of its answer, for this long. */
  readonly stallMs: number;
  /** The server keeps a connection without a request for this long. */
  readonly keepAliveMs: number;
  /** A stream without items sends a heartbeat this often. */
  readonly heartbeatMs: number;
  /** A reader of a durable stream waits this long for the next message, and then asks again. */
  readonly longPollMs: number;
}

export const HTTP_LIMITS: HttpLimits = {
  bodyBytes: 64 * 1024 * 1024,
  answerBytes: 32 * 1024 * 1024,
  connections: 1024,
  headersMs: 10_000,
  stallMs: 60_000,
  keepAliveMs: 65_000,
  heartbeatMs: 15_000,
  longPollMs: 20_000,
};

/** The bytes of the head of a request: the position of a reader with many open turns is long. */
export const HEADER_BYTES_MAX = 65_536;

/** The parts that the whole HTTP server works with. */
export interface HttpService {
  readonly served: Served;
  readonly calls: CallTable;
  readonly access: Access;
  readonly signIn: SignIn;
  readonly limits: HttpLimits;
  /** The budget, shared with the other protocol of the server. */
  readonly budget: ByteBudget;
  /** The room for answers, which counts against the budget. */
  readonly room: AnswerRoom;
  /** The turns of answers that are being sent. */
  readonly turns: Turns;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly version: string;
  /** The name of the store that people see. */
  readonly storeName: string;
  readonly families: Families;
  readonly recent: RecentThreads;
  readonly streams: Streams;
  readonly streamBells: StreamBells;
  /** Aborts when the server stops: streams end, and requests in progress finish. */
  readonly stopping: AbortSignal;
}

const PRECONDITION_FAILED = 412;
const FAILED_DEPENDENCY = 424;
/** What is missing where a turn cannot be shown: the request itself is right. */
export const TYPE_DESCRIPTOR = 'type descriptor';

interface ErrorJson {
  readonly code: string;
  readonly message: string;
  readonly data: object;
}

/** The error as the client sees it. An error that is no QuipuError is a defect, and its text stays here. */
export function toErrorJson(error: unknown): { readonly error: ErrorJson } {
  if (!isQuipuError(error)) {
    const message = 'the server failed in a way it did not expect; its log says more';
    return { error: { code: 'IO', message, data: { path: '', errno: 'UNKNOWN' } } };
  }
  const { code, message, data } = error;
  return { error: { code, message: safeDetail(message), data } };
}

/** Facts of a request that its answer depends on. */
interface Failed {
  readonly hadIfMatch?: boolean;
  readonly invalidStatus?: number | undefined;
}

/** The answer to a request that failed. */
export function errorReply(error: unknown, { hadIfMatch, invalidStatus }: Failed = {}): Reply {
  const json = toErrorJson(error);
  if (!isQuipuError(error)) return jsonReply(json, { status: 500 });
  const { code } = error;
  const moved = code === 'HEAD_MOVED' && hadIfMatch === true;
  const isTooMuch = isQuipuError(error, 'UNAVAILABLE') && error.data.what === 'connection';
  const usual = (code === 'INVALID' ? invalidStatus : undefined) ?? WIRE_CODE[code];
  const isUntyped = isQuipuError(error, 'NOT_FOUND') && error.data.what === TYPE_DESCRIPTOR;
  const special = isUntyped ? FAILED_DEPENDENCY : isTooMuch ? TOO_MANY : usual;
  const status = moved ? PRECONDITION_FAILED : special;
  const headers = code === 'UNAUTHORIZED' ? { 'WWW-Authenticate': 'Bearer' } : {};
  return jsonReply(json, { status, headers });
}

export function noRoute(method: string | undefined, path: string): QuipuError<'NOT_FOUND'> {
  const id = `${method ?? ''} ${path}`.slice(0, 200);
  return notFound('route', id, `there is nothing at ${id}; /openapi.json lists what there is`);
}

/** Throws INVALID that names the first mistake. `at` is the place of the value in what the client sent. */
export function checkInput<T extends z.ZodType>(
  schema: T,
  value: unknown,
  where: string,
  at: readonly string[] = [],
): z.output<T> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const path = [...at, ...(issue?.path ?? [])];
  const what = path.length === 0 ? where : path.join('.');
  throw invalid(what, `is not valid: ${issue?.message ?? 'it does not fit'}`);
}
