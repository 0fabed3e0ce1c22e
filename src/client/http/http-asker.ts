import { parseBoundedJson } from '../../base/bounded-json.ts';
import { QuipuError, unsupported, isQuipuError } from '../../base/errors.ts';
import type { ErrorCode, ErrorData } from '../../base/errors.ts';
import {
  fromServer,
  outcomeUnknown,
  timedOut,
  unavailable,
  TIMEOUT_MS_DEFAULT,
} from '../transport.ts';

export interface HttpClientOptions {
  readonly token?: string;
  /** The time for an answer to begin. Default 30 seconds. */
  readonly timeoutMs?: number;
  /** Replaces the global `fetch`. */
  readonly fetch?: typeof fetch;
}

export interface HttpAsk {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: RequestInit['body'];
  /** Aborts the request, and the reading of the answer. */
  readonly signal?: AbortSignal | undefined;
  /** 0: no time limit. */
  readonly timeoutMs?: number | undefined;
}

/** The request never reached the server, so nothing happened. Browsers do not say why. */
const NEVER_SENT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);

/** Asks one server with `fetch` alone. Errors are those of the store, or UNAVAILABLE and TIMEOUT. */
export class HttpAsker {
  readonly #base: string;
  readonly #token: string | undefined;
  readonly #timeoutMs: number;
  readonly #fetch: typeof fetch;

  constructor(url: string, options: HttpClientOptions = {}) {
    this.#base = url.replace(/\/+$/, '');
    this.#token = options.token;
    this.#timeoutMs = options.timeoutMs ?? TIMEOUT_MS_DEFAULT;
    // `fetch` is called as a plain function, as browsers demand.
    this.#fetch = options.fetch ?? ((input, init) => fetch(input, init));
  }

  /** The answer, with its body still to be read. Throws the error that the server reports. */
  async ask(ask: HttpAsk): Promise<Response> {
    const { signal: given, timeoutMs = this.#timeoutMs } = ask;
    const cut = new AbortController();
    let isLate = false;
    const timer =
      timeoutMs === 0
        ? undefined
        : setTimeout(() => {
            isLate = true;
            cut.abort();
          }, timeoutMs);
    given?.addEventListener('abort', () => cut.abort(), { signal: cut.signal });
    if (given?.aborted === true) cut.abort();
    try {
      const response = await this.#fetch(this.#base + ask.path, this.#init(ask, cut.signal));
      if (response.ok || response.status === 304) return response;
      throw await toError(response);
    } catch (error) {
      if (error instanceof QuipuError) throw error;
      if (isLate) throw timedOut(ask.path, timeoutMs, true);
      throw given?.aborted === true ? aborted(given) : lost(error);
    } finally {
      clearTimeout(timer);
    }
  }

  #init({ method, headers = {}, body }: HttpAsk, signal: AbortSignal): RequestInit {
    return {
      method,
      signal,
      // A store never sends its clients elsewhere. Whoever does would get what they write.
      redirect: 'manual',
      headers: {
        ...headers,
        ...(this.#token !== undefined && { Authorization: `Bearer ${this.#token}` }),
      },
      ...(body !== undefined && { body }),
      ...(body instanceof ReadableStream && { duplex: 'half' as const }),
    };
  }
}

/** The reason that the aborting caller gave. */
export function aborted(signal: AbortSignal): Error {
  const reason: unknown = signal.reason;
  return reason instanceof Error ? reason : new Error(String(reason));
}

interface NetworkReason {
  readonly code?: unknown;
  readonly message?: unknown;
  readonly address?: unknown;
  readonly port?: unknown;
  /** One for each address of a name that was tried. */
  readonly errors?: readonly NetworkReason[];
}

/** `fetch` hides the reason in the cause of its error. */
function reasonOf(error: unknown): NetworkReason {
  const reason = (error as { cause?: NetworkReason } | undefined)?.cause ?? {};
  const [first] = reason.errors ?? [];
  return first === undefined ? reason : { ...first, code: reason.code ?? first.code };
}

/** The error for a connection that failed before the whole answer arrived. */
export function lost(cause: unknown): QuipuError {
  const { code, address, port, message } = reasonOf(cause);
  if (typeof code === 'string' && NEVER_SENT.has(code)) {
    const where = typeof address === 'string' ? ` at ${address}:${String(port)}` : '';
    const nobody = code === 'ECONNREFUSED' ? `: nothing listens${where}` : where;
    return unavailable(`the server cannot be reached (${code})${nobody}`, cause);
  }
  // `fetch` refuses some ports, such as 9 and 6000, and says so in the message alone.
  if (message === 'bad port') {
    return unavailable(
      'requests by HTTP may not go to this port; let the server use another',
      cause,
    );
  }
  return outcomeUnknown('the server went away before its answer came', cause);
}

const ERROR_BYTES_MAX = 1024 * 1024;

async function toError(response: Response): Promise<QuipuError> {
  const { status, type } = response;
  // Browsers do not show where a redirect leads.
  if (type === 'opaqueredirect' || (status >= 300 && status < 400)) {
    await response.body?.cancel();
    const to = response.headers.get('location');
    const where = to === null ? 'another address' : JSON.stringify(to.slice(0, 200));
    const message = `the server sends its clients to ${where}; connect to where the store is`;
    return unsupported('redirect', String(status), message);
  }
  const text = new TextDecoder().decode(await readWhole(response, ERROR_BYTES_MAX));
  try {
    return fromServer(storeErrorOf(parseBoundedJson(text)));
  } catch {
    // Another program between this client and the server answered in its own words.
    return outcomeUnknown(
      `the answer, with status ${response.status}, is not from a Quipu server; check the address`,
    );
  }
}

/** Several times the interval at which a server shows that it is alive. */
const SILENCE_MS_MAX = 60_000;
/** A piece holds one item, and no item is larger than a frame of the binary protocol. */
const PIECE_BYTES_MAX = 64 * 1024 * 1024 + 1024;

/** An answer that says to be shorter is read in one go. */
const SMALL_BYTES = 64 * 1024;

/**
 * The bytes of a body. The request was carried out or not: nobody knows when there are more than `maxBytes`, or when the
 * server falls silent.
 */
export async function readWhole(
  response: Response,
  maxBytes: number,
  silenceMs: number = SILENCE_MS_MAX,
): Promise<Uint8Array> {
  try {
    if (lengthOf(response) <= Math.min(SMALL_BYTES, maxBytes)) {
      return new Uint8Array(await withinSilence(response.arrayBuffer(), silenceMs));
    }
    const pieces: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of readChunks(response, silenceMs)) {
      size += chunk.length;
      if (size > maxBytes) throw unavailable(`the answer has more than ${maxBytes} bytes`);
      pieces.push(chunk);
    }
    return join(pieces, size);
  } catch (error) {
    throw isQuipuError(error) ? outcomeUnknown(error.message, error) : error;
  }
}

/** The length that an answer says to have. Packed bytes may unpack to any number. */
function lengthOf({ headers }: Response): number {
  return headers.has('content-encoding') ? NaN : Number(headers.get('content-length') ?? NaN);
}

/** The pieces of a body. Each piece follows its length as u32; empty pieces only show that the server is alive. */
export async function* readFramed(response: Response): AsyncGenerator<Uint8Array, void, undefined> {
  let waiting: Uint8Array[] = [];
  let size = 0;
  let needed = 4;
  for await (const chunk of readChunks(response)) {
    waiting.push(chunk);
    size += chunk.length;
    if (size < needed) continue;
    let held = join(waiting, size);
    for (needed = nextEnd(held); held.length >= needed; needed = nextEnd(held)) {
      if (needed > 4) yield held.slice(4, needed);
      held = held.subarray(needed);
    }
    waiting = [held];
    size = held.length;
  }
}

/** The number of bytes that the first piece needs to be whole. */
function nextEnd(held: Uint8Array): number {
  if (held.length < 4) return 4;
  const length = new DataView(held.buffer, held.byteOffset).getUint32(0, true);
  if (length > PIECE_BYTES_MAX)
    throw unavailable('the answer is not from a Quipu server; check the address');
  return 4 + length;
}

/** The chunks of a body. A server that is silent for a while is considered gone. */
async function* readChunks(
  response: Response,
  silenceMs: number = SILENCE_MS_MAX,
): AsyncGenerator<Uint8Array, void, undefined> {
  if (response.body === null) return;
  const reader = response.body.getReader();
  try {
    for (;;) {
      const next = await withinSilence(reader.read(), silenceMs);
      if (next.done) return;
      yield next.value as Uint8Array;
    }
  } finally {
    // Ends the request when the reader stops early; after the end of the body this does nothing.
    reader.cancel().catch(() => undefined);
  }
}

async function withinSilence<T>(work: Promise<T>, ms: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(unavailable('the server stopped answering')), ms);
  });
  try {
    return await Promise.race([work, silence]);
  } finally {
    clearTimeout(timer);
  }
}

function join(pieces: readonly Uint8Array[], size: number): Uint8Array {
  const [only] = pieces;
  if (pieces.length === 1 && only !== undefined) return only;
  const all = new Uint8Array(size);
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}

/** A server-sent event of a store. */
export interface ServerEvent {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: unknown;
}

const LINE_CHARS_MAX = 128 * 1024 * 1024;

/** The events of an answer until `end`. Throws the error of an `error` event, and UNAVAILABLE when cut off. */
export async function* readEvents(
  response: Response,
): AsyncGenerator<ServerEvent, void, undefined> {
  const decoder = new TextDecoder();
  let waiting: string[] = [];
  let size = 0;
  for await (const chunk of readChunks(response)) {
    const text = decoder.decode(chunk, { stream: true });
    waiting.push(text);
    size += text.length;
    if (size > LINE_CHARS_MAX)
      throw unavailable('the answer is not from a Quipu server; check the address');
    // The blank line that ends an event may be split between two chunks.
    if (!`${waiting.at(-2)?.slice(-1) ?? ''}${text}`.includes('\n\n')) continue;
    const parts = waiting.join('').split('\n\n');
    const rest = parts.pop() ?? '';
    waiting = [rest];
    size = rest.length;
    for (const part of parts) {
      const event = parseEvent(part);
      if (event?.event === 'end') return;
      if (event?.event === 'error') throw storeErrorOf(event.data);
      if (event !== undefined) yield event;
    }
  }
  throw unavailable('the server went away before the events had ended');
}

function parseEvent(text: string): ServerEvent | undefined {
  const fields = new Map<string, string>();
  for (const line of text.split('\n')) {
    const colon = line.indexOf(': ');
    if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 2));
  }
  const data = fields.get('data');
  if (data === undefined) return undefined;
  return {
    id: fields.get('id'),
    event: fields.get('event') ?? 'message',
    data: parseBoundedJson(data),
  };
}

/** The error of a store in its JSON form. */
function storeErrorOf(data: unknown): QuipuError {
  const { error } = data as {
    error: { code: ErrorCode; message: string; data: ErrorData[ErrorCode] };
  };
  return new QuipuError(error.code, error.message, error.data);
}
