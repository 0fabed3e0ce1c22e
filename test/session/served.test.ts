import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openStore } from '../../src/open-store.ts';
import { json, serveHttp } from '../service/http-rig.ts';
import { message, picture } from '../../src/testing/session-suite/fixture.ts';
import { freshFolder } from '../../src/testing/fresh-folder.ts';

interface Page {
  entries: { id: string }[];
  cursor?: number;
}

describe('sessions over HTTP', () => {
  it('begin, grow, fork, and are read in pages', async () => {
    const { get, send, folder } = await serveHttp();
    const made = await json<{ id: string; file: string }>(
      send('POST', '/v1/sessions', { cwd: '/work' }),
      201,
    );
    expect(made.file.startsWith(join(folder, 'sessions/--work--'))).toBe(true);
    const at = `/v1/sessions/${made.id}`;
    const image = picture(Buffer.alloc(1000, 1));
    const { ids } = await json<{ ids: string[] }>(
      send('POST', `${at}/entries`, { entries: [message('a'), image] }),
      201,
    );
    await json(send('POST', `${at}/entries`, message('b')), 201);
    const page = await json<Page>(get(`${at}/entries?last=2`));
    expect(page.entries[0]).toMatchObject({ ...image, id: ids[1] });
    const before = await json<Page>(get(`${at}/entries?last=5&before=${page.cursor}`));
    expect(before.entries).toMatchObject([{ id: ids[0] }]);
    const saved = send('POST', `${at}/artifacts`, { text: 'l1\nl2', toolType: 'bash' });
    expect(await json(saved, 201)).toEqual({ id: '0', url: 'artifact://0' });
    const part = await json(get(`${at}/resource?url=artifact://0&offset=2`));
    expect(part).toMatchObject({ content: 'l2', contentType: 'text/plain' });
    const fork = await json<{ id: string }>(send('POST', `${at}/fork`, { at: ids[0] }), 201);
    const forked = await json<Page>(get(`/v1/sessions/${fork.id}/entries`));
    expect(forked.entries).toHaveLength(1);
    expect(await json(get('/v1/sessions?limit=1'))).toMatchObject({ items: [{ id: made.id }] });
    expect((await send('DELETE', at)).status).toBe(204);
    expect((await get(at)).status).toBe(404);
  });

  it('give away no other file of the server', async () => {
    const { get, send } = await serveHttp();
    for (const id of ['..%2f..%2fetc%2fpasswd', '%2Fetc%2Fpasswd', 'x.jsonl']) {
      expect((await get(`/v1/sessions/${id}/entries`)).status).toBe(422);
    }
    const { id } = await json<{ id: string }>(send('POST', '/v1/sessions'), 201);
    const resource = (url: string): Promise<Response> =>
      get(`/v1/sessions/${id}/resource?url=${encodeURIComponent(url)}`);
    expect((await resource('agent://..%2F..%2Fx')).status).toBe(404);
    expect(await json(resource('file:///etc/passwd'), 422)).toMatchObject({
      error: { message: 'Unknown protocol: file://\nSupported: agent://, artifact://' },
    });
    expect((await send('POST', `/v1/sessions/${id}/entries`, { type: 'session' })).status).toBe(
      422,
    );
  });
});

describe('sessions of a client', () => {
  it('keep files here, and what they refer to with the server', async () => {
    const server = await serveHttp();
    const folder = freshFolder();
    await using store = await openStore(server.url);
    await expect(store.sessions.create()).rejects.toMatchObject({ code: 'INVALID' });
    await expect(store.blobs.path('0'.repeat(64))).rejects.toMatchObject({ code: 'UNSUPPORTED' });
    const session = await store.sessions.create({ folder });
    const entry = await session.append(picture(Buffer.alloc(5000, 2)));
    expect((await session.load()).entries).toEqual([entry]);
    // The server knows what is needed, without the file.
    await server.store.maintain.gc({ graceMs: 0 });
    expect((await session.load()).unresolved).toEqual([]);
  });
});
