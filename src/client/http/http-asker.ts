import { parseBoundedJson } from '../../base/bounded-json.ts';
import { QuipuError, unsupported } from '../../base/errors.ts';
import type { ErrorCode, ErrorData } from '../../base/errors.ts';
import { fromServer, outcomeUnknown, timedOut, unavailable } from '../transport.ts';
import { TIMEOUT_MS_DEFAULT } from '../retry.ts';
import { readWhole } from './read-answer.ts';

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
    const { error } = parseBoundedJson(text) as {
      error: { code: ErrorCode; message: string; data: ErrorData[ErrorCode] };
    };
    return fromServer(new QuipuError(error.code, error.message, error.data));
  } catch {
    // Another program between this client and the server answered in its own words.
    return outcomeUnknown(
      `the answer, with status ${response.status}, is not from a Quipu server; check the address`,
    );
  }
}
