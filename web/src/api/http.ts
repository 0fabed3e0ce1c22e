import { OPERATIONS, type Answers } from './answers.ts';

// Requests to the server that served the page. Answers have the types that the server's own description gives.

export type Operation = keyof typeof OPERATIONS;
type Answer<O extends Operation> = O extends keyof Answers ? Answers[O] : undefined;

/** Path parameters by name, then the query; the names of both differ in every route. */
export type Given = Readonly<Record<string, string | number | boolean | undefined>>;

export interface Asked {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** An error that the server gave, or that the connection did (`OFFLINE`). */
export class ApiError extends Error {
  readonly code: string;
  readonly status: number;

  constructor(code: string, message: string, status: number) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

const TOKEN = 'quipu.token';
/** The path below which the server is, with a slash at its end. The server writes it into the page. */
export const ROOT: URL = new URL('./', document.baseURI);

/**
 * The token stays in this tab. It arrives behind `#`, where no server sees it, and leaves the address at once. A one-time
 * code arrives the same way, and is exchanged for the token. With a code that was used, the page asks for a token.
 */
export async function takeToken(): Promise<void> {
  const [, kind, secret] = /^#(token|code)=([\w.~+/=-]+)$/.exec(location.hash) ?? [];
  if (secret === undefined) return;
  history.replaceState(history.state, '', location.pathname + location.search);
  if (kind === 'token') setToken(secret);
  else {
    const headers = { Authorization: `Bearer ${secret}` };
    await ask('signIn', {}, { headers }).then(
      ({ token }) => setToken(token),
      () => undefined,
    );
  }
}

export function setToken(token: string): void {
  sessionStorage.setItem(TOKEN, token);
}

export async function ask<O extends Operation>(
  operation: O,
  given: Given = {},
  asked: Asked = {},
): Promise<Answer<O>> {
  const response = await send(operation, given, asked);
  if (response.status === 204) return undefined as Answer<O>;
  const type = response.headers.get('content-type') ?? '';
  const answer: unknown = type.includes('json') ? await response.json() : await response.text();
  return answer as Answer<O>;
}

export async function send(operation: Operation, given: Given, asked: Asked): Promise<Response> {
  const [method, template] = OPERATIONS[operation];
  const rest = new Map(Object.entries(given));
  const path = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = rest.get(name);
    rest.delete(name);
    return encodeURIComponent(String(value));
  });
  const url = new URL(path.slice(1), ROOT);
  for (const [name, value] of rest) {
    if (value !== undefined) url.searchParams.set(name, String(value));
  }
  const token = sessionStorage.getItem(TOKEN);
  const headers = new Headers(asked.headers);
  if (token !== null && !headers.has('Authorization'))
    headers.set('Authorization', `Bearer ${token}`);
  if (asked.body !== undefined) headers.set('Content-Type', 'application/json');
  let response: Response;
  try {
    response = await fetch(url, {
      method,
      headers,
      ...(asked.body !== undefined && { body: JSON.stringify(asked.body) }),
      ...(asked.signal !== undefined && { signal: asked.signal }),
    });
  } catch (error) {
    if (asked.signal?.aborted === true) throw error;
    throw new ApiError('OFFLINE', 'The server does not answer.', 0);
  }
  if (response.ok) return response;
  throw await toError(response);
}

async function toError(response: Response): Promise<ApiError> {
  const { status } = response;
  try {
    const { error } = (await response.json()) as { error: { code: string; message: string } };
    return new ApiError(error.code, error.message, status);
  } catch {
    return new ApiError('UNKNOWN', `The server answered with status ${status}.`, status);
  }
}
