import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import type { Identity, Needed } from '../../access/access.ts';
import type { Served } from '../../calls/call-handler.ts';
import type { Checked } from '../../calls/check-args.ts';
import type { HttpService } from './http-service.ts';
import type { RequestRoom } from './request-room.ts';

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
