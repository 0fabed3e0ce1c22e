import { describe, expect, it } from 'vitest';
import { json, readEvents, serveHttp } from '../service/http-rig.ts';
import { openStore } from '../../src/open-store.ts';
import { BUNDLE } from '../../src/testing/workflow-suite/fixture.ts';

interface ThreadJson {
  readonly id: string;
  readonly head: string;
}

const THREADS = '/v1/workflows/threads';

describe('workflows over HTTP', () => {
  it('starts, steps, forks, compacts and ends threads', async () => {
    const { get, send } = await serveHttp();
    const body = { name: 'web', prompt: 'p', bundle: BUNDLE };
    const { id } = await json<ThreadJson>(send('POST', THREADS, body), 201);
    const step = await json<{ hash: string }>(
      send('POST', `${THREADS}/${id}/steps`, { role: 'coder', content: 'c' }),
      201,
    );
    const stale = { role: 'coder', content: 'd', expectedHead: 'f'.repeat(64) };
    await json(send('POST', `${THREADS}/${id}/steps`, stale), 409);
    const missing = { role: 'coder', content: 'd', refs: ['f'.repeat(64)] };
    await json(send('POST', `${THREADS}/${id}/steps`, missing), 404);
    const fork = await json<ThreadJson>(
      send('POST', `${THREADS}/${id}/fork`, { at: 'coder' }),
      201,
    );
    expect(fork.head).toBe(step.hash);
    await json(send('POST', `${THREADS}/${id}/compact`, { summary: 'short' }), 201);
    expect(await json(get(`${THREADS}/${id}/context`))).toMatchObject({
      summary: 'short',
      steps: [],
    });
    expect(await json(send('POST', `${THREADS}/${id}/pause`))).toMatchObject({ state: 'paused' });
    await json(send('POST', `${THREADS}/${id}/end`, { summary: 'done' }), 201);
    await json(send('POST', `${THREADS}/${fork.id}/kill`, { reason: 'no' }));
    const all = await json<{ items: ThreadJson[] }>(get(`${THREADS}?state=completed`));
    expect(all.items).toHaveLength(2);
    const page = await json<{ steps: unknown[]; cursor?: string }>(
      get(`${THREADS}/${id}/steps?limit=2`),
    );
    expect(page).toMatchObject({
      steps: [{ compact: expect.any(String) as string }, { role: '__end__' }],
    });
    expect((await send('DELETE', `${THREADS}/${id}`)).status).toBe(204);
    await json(get(`${THREADS}/${id}`), 404);
    await json(get(`${THREADS}/nonsense`), 422);
    expect(await json(get('/v1/workflows/bundles'))).toEqual({ items: [] });
  });

  it('sends steps as events, and goes on after the last one seen', async () => {
    const { get, store } = await serveHttp();
    const { workflows } = store;
    const { id } = await workflows.start({ name: 'web', prompt: 'p', bundle: BUNDLE });
    await workflows.step(id, { role: 'a', content: '1' });
    const first = readEvents(await get(`${THREADS}/${id}/events`));
    const { value } = await first.next();
    expect(value).toMatchObject({ event: 'step', data: { content: '1' } });
    await first.return();
    await workflows.step(id, { role: 'a', content: '2' });
    const last = (value as { id: string }).id;
    const again = readEvents(
      await get(`${THREADS}/${id}/events`, { headers: { 'Last-Event-ID': last } }),
    );
    expect((await again.next()).value).toMatchObject({ data: { content: '2' } });
    const index = readEvents(await get(`/v1/workflows/bundles/${BUNDLE}/events`));
    expect((await index.next()).value).toMatchObject({ event: 'threads' });
    await workflows.end(id, { summary: '3' });
    expect((await again.next()).value).toMatchObject({ data: { content: '3' } });
    expect((await again.next()).value).toMatchObject({ event: 'end' });
    expect((await index.next()).value).toMatchObject({ data: { threads: {} } });
    await index.return();
    await json(get(`${THREADS}/${'0'.repeat(26)}/events`), 404);
  });

  it('gives a client everything, also to run a bundle where the client is', async () => {
    const identity = { name: 'admin', scope: 'admin', handlers: true } as const;
    const access = { tokensNeeded: false, identify: async () => identity };
    const { url, get } = await serveHttp({ access });
    await using store = await openStore(url);
    await store.workflows.bundles.add(`
      export const descriptor = { name: 'far', roles: { a: {} } };
      export const roles = { a: ({ prompt }) => 'said ' + prompt };
      export const table = { __start__: 'a', a: '__end__' };`);
    const result = await store.workflows.run('far', { prompt: 'hello' });
    expect(result).toMatchObject({ returnCode: 0, summary: 'said hello' });
    const { threadId } = result;
    const { lines } = await json<{ lines: { message: string }[] }>(
      get(`${THREADS}/${threadId}/info?from=1&limit=1`),
    );
    expect(lines.map(({ message }) => message)).toEqual(['a begins']);
    const facts = { name: 'far', prompt: 'hello', outcome: 'completed', returnCode: 0 };
    expect(await json(get(`${THREADS}/${threadId}?details=true`))).toMatchObject(facts);
    const listed = await json(get(`${THREADS}?state=all&details=true`));
    expect(listed).toMatchObject({ items: [facts] });
    const seen: string[] = [];
    for await (const { role } of store.workflows.live(result.threadId)) seen.push(role);
    expect(seen).toEqual(['a', '__end__']);
  });
});
