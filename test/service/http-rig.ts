import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { openFilesEngine } from '../../src/engine/files/open-files-engine.ts';
import { openAccess } from '../../src/server/access/access.ts';
import { createCalls } from '../../src/server/calls/create-calls.ts';
import { createHttpServer } from '../../src/server/http/create-http-server.ts';
import type { HttpServerOptions } from '../../src/server/http/create-http-server.ts';
import { createStore } from '../../src/store/create-store.ts';
import type { Store } from '../../src/store/store.ts';
import { freshFolder } from '../../src/testing/fresh-folder.ts';

export interface HttpRig {
  readonly url: string;
  readonly port: number;
  readonly folder: string;
  readonly store: Store;
  readonly get: (path: string, init?: RequestInit) => Promise<Response>;
  readonly send: (
    method: string,
    path: string,
    body?: unknown,
    init?: RequestInit,
  ) => Promise<Response>;
  /** The server and its store; the folder stays. */
  readonly stop: (graceMs?: number) => Promise<void>;
}

export type RigOptions = Partial<HttpServerOptions> & { folder?: string; port?: number };

/** A server on a free port over a store in a folder of its own. */
export async function serveHttp(options: RigOptions = {}): Promise<HttpRig> {
  const folder = options.folder ?? freshFolder();
  const engine = await openFilesEngine(folder, { durability: 'unsafe' });
  const store = createStore(engine, { folder, queues: { folder: join(folder, 'queues') } });
  const served = { engine, store };
  const server = createHttpServer({
    served,
    calls: createCalls(served),
    access: openAccess,
    ...options,
  });
  const { url, port } = await server.listen(options.port ?? 0, '127.0.0.1');
  let stopping: Promise<void> | undefined;
  const stop = (graceMs = 2000): Promise<void> => {
    stopping ??= server.close(graceMs).then(() => store.close());
    return stopping;
  };
  onTestFinished(() => stop(0));
  const get = (path: string, init: RequestInit = {}): Promise<Response> => fetch(url + path, init);
  const send = (
    method: string,
    path: string,
    body?: unknown,
    init: RequestInit = {},
  ): Promise<Response> =>
    fetch(url + path, {
      method,
      ...init,
      headers: { 'content-type': 'application/json', ...(init.headers as object) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  return { url, port, folder, store, get, send, stop };
}

/** The body of an answer, after checking its status. */
export async function json<T>(answer: Promise<Response> | Response, status = 200): Promise<T> {
  const response = await answer;
  const text = await response.text();
  if (response.status !== status) {
    throw new Error(`expected ${status}, got ${response.status}: ${text}`);
  }
  return JSON.parse(text) as T;
}

export interface Seen {
  readonly id?: string;
  readonly event?: string;
  readonly data: unknown;
}

/** Server-sent events as they come. Comments are passed over. */
export async function* readEvents(response: Response): AsyncGenerator<Seen, void, undefined> {
  let text = '';
  if (response.body === null) return;
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    text += piece;
    const parts = text.split('\n\n');
    text = parts.pop() ?? '';
    for (const part of parts) {
      const fields = part.split('\n').filter((line) => !line.startsWith(':'));
      if (fields.length === 0) continue;
      const field = (name: string): string | undefined =>
        fields.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
      const [id, event] = [field('id'), field('event')];
      yield {
        ...(id !== undefined && { id }),
        ...(event !== undefined && { event }),
        data: JSON.parse(field('data') ?? 'null') as unknown,
      };
    }
  }
}
