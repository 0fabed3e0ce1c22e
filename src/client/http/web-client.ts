import { isQuipuError } from '../../base/errors.ts';
import { jsonable } from '../../base/jsonable.ts';
import { pauseMs } from '../../base/retry.ts';
import type { ContextJson } from '../../context/context.ts';
import type { MetaConditions } from '../../context/meta-condition.ts';
import type { ContextUpdate } from '../../context/contexts.ts';
import type { TurnJson } from '../../context/turn.ts';
import type { SearchAnswer, SearchOptions } from '../../search/contract/search.ts';
import type { BlobInfo } from '../../store/blobs.ts';
import { TIMEOUT_MS_DEFAULT, isPassing, withRetries } from '../transport.ts';
import { HttpAsker, lost, readEvents, readWhole } from './http-asker.ts';
import type { HttpClientOptions, ServerEvent } from './http-asker.ts';

// The parts of a store that a web page needs: values as in the HTTP API, ids as decimal strings. Reads are retried when
// the connection fails. Appends are retried too, because each carries a key of its own.

/** An id as callers may give it. Answers have decimal strings. */
export type IdLike = string | number | bigint;

export interface WebTurn {
  readonly type: string;
  readonly payload: unknown;
  readonly version?: number;
  readonly encoding?: TurnJson['encoding'];
}

export interface WebBatchTurn extends WebTurn {
  /** The key of this turn alone. All turns of a batch have one, or none. */
  readonly idempotencyKey?: string;
}

export interface WebAppendOptions {
  /** The head must be this turn ("0": the context must be empty). */
  readonly expectedHead?: IdLike;
  readonly parent?: IdLike;
  /** Default: a key made up for this call. */
  readonly idempotencyKey?: string;
}

export interface WebPage {
  readonly turns: readonly TurnJson[];
  /** Present when older turns exist: pass it as `before`. */
  readonly cursor?: string;
  readonly headDepth: number;
}

export interface WebFollowOptions {
  /** Begin after this turn; "head": with the turns from now on. Default: at the root. */
  readonly after?: IdLike;
  readonly signal?: AbortSignal;
}

export interface WebTurnsOptions extends WebFollowOptions {
  /** Called when the head was moved and the turns after `backTo` ("0": all) do not lead to it any more. */
  readonly onMoved?: (moved: { readonly backTo: string; readonly depth: number }) => void;
}

export interface WebWatchOptions extends WebFollowOptions {
  readonly context?: IdLike;
  readonly kinds?: readonly string[];
}

export type WebSearchOptions = Omit<SearchOptions, 'progress' | 'timeMs'>;

/** A page of turns is 64 MiB at most, and up to six times as long as JSON. */
const ANSWER_BYTES_MAX = 400 * 1024 * 1024;
const BLOB_BYTES_MAX = 0xffff_ffff;

type Query = Readonly<Record<string, IdLike | boolean | undefined>>;

export class WebClient {
  readonly #asker: HttpAsker;
  readonly #timeoutMs: number;

  constructor(url: string, options: HttpClientOptions = {}) {
    this.#asker = new HttpAsker(url, options);
    this.#timeoutMs = options.timeoutMs ?? TIMEOUT_MS_DEFAULT;
  }

  listContexts(
    options: {
      label?: string;
      kind?: string;
      namePrefix?: string;
      meta?: MetaConditions;
      createdSince?: number;
      createdUntil?: number;
      updatedSince?: number;
      updatedUntil?: number;
      count?: boolean;
      limit?: number;
      cursor?: string;
    } = {},
  ): Promise<{ items: ContextJson[]; cursor?: string; total?: number }> {
    const { meta, ...asked } = options;
    const query = { ...asked, meta: meta && JSON.stringify(meta) };
    return this.#json('GET', `/v1/contexts${queryText(query)}`);
  }

  getContext(id: IdLike): Promise<ContextJson> {
    return this.#json('GET', contextPath(id));
  }

  /** Retried only with a key of its own: two contexts are worse than an error. */
  createContext(
    details: ContextUpdate & { name?: string; base?: IdLike } = {},
    options: { idempotencyKey?: string } = {},
  ): Promise<ContextJson> {
    const { idempotencyKey: key } = options;
    const headers = key === undefined ? {} : { 'Idempotency-Key': key };
    const repeatable = key !== undefined;
    return this.#json('POST', '/v1/contexts', {
      body: jsonable({ ...details }),
      headers,
      repeatable,
    });
  }

  /** The context with this name, made with the defaults if there is none. Retried: it is made once. */
  getOrCreateContext(
    name: string,
    defaults: ContextUpdate & { base?: IdLike } = {},
  ): Promise<ContextJson> {
    return this.#json('PUT', `/v1/contexts/by-name${queryText({ name })}`, {
      body: jsonable({ ...defaults }),
    });
  }

  contextByName(name: string): Promise<ContextJson> {
    return this.#json('GET', `/v1/contexts/by-name${queryText({ name })}`);
  }

  /** Moves the head to a turn ("0": to none). Not retried without the head that is expected. */
  moveHead(
    id: IdLike,
    head: IdLike,
    options: { expectedHead?: IdLike } = {},
  ): Promise<ContextJson> {
    const { expectedHead: expected } = options;
    const headers = expected === undefined ? {} : { 'If-Match': `"${expected}"` };
    const body = jsonable({ head: String(head) });
    return this.#json('PUT', contextPath(id, '/head'), { body, headers, repeatable: false });
  }

  renameContext(id: IdLike, name: string | null): Promise<ContextJson> {
    return this.#json('PUT', contextPath(id, '/name'), { body: { name }, repeatable: false });
  }

  append(context: IdLike, turn: WebTurn, options: WebAppendOptions = {}): Promise<TurnJson> {
    return this.#append(context, toBody(turn), options, options.idempotencyKey ?? randomKey());
  }

  /** Appends all turns as one chain, or none. */
  async appendBatch(
    context: IdLike,
    turns: readonly WebBatchTurn[],
    options: WebAppendOptions = {},
  ): Promise<TurnJson[]> {
    const isKeyed = turns.some(({ idempotencyKey }) => idempotencyKey !== undefined);
    const key = options.idempotencyKey ?? (isKeyed ? undefined : randomKey());
    const body = { turns: turns.map(toBody) };
    const added = await this.#append<{ turns: TurnJson[] }>(context, body, options, key);
    return added.turns;
  }

  /** Every append has a key, of its own or in its turns, so that it can be sent again. */
  #append<T>(
    context: IdLike,
    body: unknown,
    { expectedHead, parent }: WebAppendOptions,
    key: string | undefined,
  ): Promise<T> {
    const path = contextPath(context, `/turns${queryText({ parent })}`);
    const headers = {
      ...(key !== undefined && { 'Idempotency-Key': key }),
      ...(expectedHead !== undefined && { 'If-Match': `"${expectedHead}"` }),
    };
    return this.#json('POST', path, { body, headers });
  }

  last(context: IdLike, options: { limit?: number; before?: IdLike } = {}): Promise<WebPage> {
    return this.#json('GET', contextPath(context, `/turns${queryText(options)}`));
  }

  turn(id: IdLike): Promise<TurnJson> {
    return this.#json('GET', `/v1/turns/${encodeURIComponent(String(id))}`);
  }

  /** Finds what was ever said. The server searches: no text comes here but that of the hits. */
  search(query: string, options: WebSearchOptions = {}): Promise<SearchAnswer> {
    const { order, limit, cursor, group, facets, around, waitMs } = options;
    const given = { q: query, order, limit, cursor, around, waitMs, group, facets };
    return this.#json('GET', `/v1/search${queryText(given)}`);
  }

  /** Existing turns, then new ones, without gap and repetition, also across lost connections. */
  async *follow(
    context: IdLike,
    options: WebTurnsOptions = {},
  ): AsyncGenerator<TurnJson, void, undefined> {
    const path = contextPath(context, '/events');
    for await (const { event, data } of this.#events(path, options)) {
      if (event === 'turn') yield data as TurnJson;
      if (event === 'moved') options.onMoved?.(data as { backTo: string; depth: number });
    }
  }

  /** The events of the whole store. A client can continue from the id of an event. */
  watch(options: WebWatchOptions = {}): AsyncGenerator<ServerEvent, void, undefined> {
    const { context, kinds } = options;
    const query = queryText({ context, kinds: kinds?.join(',') });
    return this.#events(`/v1/events${query}`, options);
  }

  /** Storing the same bytes again is harmless, so this is retried too. */
  putBlob(bytes: Uint8Array): Promise<BlobInfo> {
    return this.#json('PUT', '/v1/blobs', { bytes });
  }

  async getBlob(ref: string): Promise<Uint8Array> {
    return this.#retry(true, async (timeoutMs) => {
      const path = `/v1/blobs/${encodeURIComponent(ref)}`;
      const response = await this.#asker.ask({ method: 'GET', path, timeoutMs });
      return readAll(() => readWhole(response, BLOB_BYTES_MAX));
    });
  }

  async #json<T>(
    method: string,
    path: string,
    given: {
      body?: unknown;
      bytes?: Uint8Array;
      headers?: Record<string, string>;
      repeatable?: boolean;
    } = {},
  ): Promise<T> {
    const { body, bytes, headers = {}, repeatable = true } = given;
    const type = bytes === undefined ? 'application/json' : 'application/octet-stream';
    const content = bytes === undefined ? body && JSON.stringify(body) : new Blob([bytes.slice()]);
    return this.#retry(repeatable, async (timeoutMs) => {
      const response = await this.#asker.ask({
        method,
        path,
        timeoutMs,
        headers: { ...headers, ...(content !== undefined && { 'Content-Type': type }) },
        ...(content !== undefined && { body: content as string | Blob }),
      });
      const bytes = await readAll(() => readWhole(response, ANSWER_BYTES_MAX));
      return JSON.parse(new TextDecoder().decode(bytes)) as T;
    });
  }

  #retry<T>(repeatable: boolean, work: (timeoutMs: number) => Promise<T>): Promise<T> {
    const isOver = (): boolean => false;
    return withRetries(work, { timeoutMs: this.#timeoutMs, repeatable, isOver });
  }

  /** Reconnects after every loss until the signal aborts, the source ends or the server refuses. */
  async *#events(
    path: string,
    { after, signal }: WebFollowOptions,
  ): AsyncGenerator<ServerEvent, void, undefined> {
    let last = after === undefined ? undefined : String(after);
    for (let attempt = 0; !isAborted(signal); attempt += 1) {
      try {
        const headers = {
          Accept: 'text/event-stream',
          ...(last !== undefined && { 'Last-Event-ID': last }),
        };
        const response = await this.#asker.ask({ method: 'GET', path, headers, signal });
        for await (const event of readEvents(response)) {
          attempt = 0;
          last = event.id ?? last;
          yield event;
        }
        return;
      } catch (error) {
        if (isAborted(signal)) return;
        if (!isLost(error)) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, pauseMs(attempt)));
    }
  }
}

function toBody(turn: WebTurn): object {
  const { payload, ...rest } = turn;
  return payload instanceof Uint8Array ? { ...rest, base64: toBase64(payload) } : turn;
}

/** A body that breaks off counts as a lost connection. */
async function readAll<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw isQuipuError(error) ? error : lost(error);
  }
}

function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true;
}

/** True for any error except one that the store itself gave. */
function isLost(error: unknown): boolean {
  return !isQuipuError(error) || isPassing(error);
}

function queryText(query: Query): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) given.set(name, String(value));
  }
  return given.size === 0 ? '' : `?${given.toString()}`;
}

function contextPath(id: IdLike, rest = ''): string {
  return `/v1/contexts/${encodeURIComponent(String(id))}${rest}`;
}

function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function toBase64(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += String.fromCodePoint(byte);
  return btoa(text);
}
