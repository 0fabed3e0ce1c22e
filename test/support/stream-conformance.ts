import { runConformanceTests } from '@durable-streams/server-conformance-tests';
import { afterAll, beforeAll } from 'vitest';
import type { Engine } from '../../src/engine/engine.ts';
import { openAccess } from '../../src/server/access/access.ts';
import { createCalls } from '../../src/server/calls/create-calls.ts';
import { createHttpServer, type HttpServer } from '../../src/server/http/create-http-server.ts';
import { createStore } from '../../src/store/create-store.ts';
import type { Store } from '../../src/store/store.ts';

/** The suite waits for a poll to end more than once, and asks as a page of this origin. */
const LONG_POLL_MS = 1000;
const ORIGIN = 'https://example.com';

/**
 * Its tests mostly wait, so they wait together. Some let a stream live for two seconds and use it after one and a half:
 * a machine that stands still for a moment misses that, and the test is done again.
 */
export const SUITE = { concurrent: true, retry: 5 };

/** The whole suite of the Durable Streams protocol against a server over this engine. */
export function streamConformance(open: () => Promise<Engine>): void {
  const config = { baseUrl: '', longPollTimeoutMs: LONG_POLL_MS };
  let server: HttpServer;
  let store: Store;

  beforeAll(async () => {
    const engine = await open();
    store = createStore(engine);
    const served = { engine, store };
    server = createHttpServer({
      served,
      calls: createCalls(served),
      access: openAccess,
      origins: [ORIGIN],
      limits: { longPollMs: LONG_POLL_MS },
    });
    const { url } = await server.listen(0, '127.0.0.1');
    config.baseUrl = `${url}/v1/streams`;
  });

  afterAll(async () => {
    await server.close(100);
    await store.close();
  });

  runConformanceTests(config);
}
