import { describe, expect, it } from 'vitest';
import { connectStore } from '../../src/connect-store.ts';
import {
  chatJson,
  eventJson,
  messageJson,
  statusJson,
} from '../../src/server/http/routes/chats.ts';
import { json, serveHttp } from '../service/http-rig.ts';
import { join, textsOf } from '../../src/testing/chat-suite/fixture.ts';

interface Body {
  readonly id: string;
  readonly branch: string;
  readonly batch: string;
  readonly messages: { readonly id: string; readonly content: string }[];
}

describe('chats over HTTP', () => {
  it('are made, written to, read, searched, exported and removed', async () => {
    const { get, send } = await serveHttp();
    const made = await json<Body>(send('POST', '/v1/chats', { id: 'c1', title: 't' }), 201);
    expect(chatJson.safeParse(made).success).toBe(true);
    const base = '/v1/chats/c1';
    const hi = await json<Body>(
      send('POST', `${base}/messages`, { role: 'user', content: 'hi' }),
      201,
    );
    expect(messageJson.safeParse(hi).success).toBe(true);
    const late = send('POST', `${base}/messages?expectedSeq=0`, { role: 'user', content: 'x' });
    expect((await late).status).toBe(409);
    const edited = await json(send('PUT', `${base}/messages/${hi.id}`, { content: 'hello' }));
    expect(eventJson.safeParse(edited).success).toBe(true);
    const { branch } = await json<Body>(send('POST', `${base}/messages/${hi.id}/fork`, {}), 201);
    await json(send('POST', `${base}/messages`, { role: 'user', content: 'side', branch }), 201);
    const page = await json<Body>(get(`${base}/messages?branch=${branch}`));
    expect(page.messages.map(({ content }) => content)).toEqual(['hello', 'side']);
    expect((await json<Body>(get(`${base}/search?text=SIDE`))).messages).toHaveLength(1);
    expect(await json(get(`${base}/messages/${hi.id}`))).toMatchObject({ content: 'hello' });
    expect((await get(`${base}/messages/nobody`)).status).toBe(404);

    const file = send('PUT', `${base}/attachments?name=x.png&message=${hi.id}`, undefined, {
      body: new Uint8Array([1, 2]),
      headers: { 'content-type': 'image/png' },
    });
    expect(await json(file, 201)).toMatchObject({ mediaType: 'image/png', size: 2 });
    const questions = [{ id: 'q', text: 'Sure?', kind: 'yes_no' }];
    const { batch } = await json<Body>(send('POST', `${base}/clarifications`, { questions }), 201);
    const answers = [{ question_id: 'q', value: 'maybe' }];
    expect((await send('POST', `${base}/clarifications/${batch}/answer`, { answers })).status).toBe(
      422,
    );
    await json(send('POST', `${base}/clarifications/${batch}/dismiss`, {}));

    const status = await json(get(base));
    expect(statusJson.safeParse(status).error).toBeUndefined();
    expect(status).toMatchObject({ messages: 2, problems: 0 });
    expect(await json(get(`${base}/problems`))).toEqual({ problems: [] });
    expect(await json(get(`${base}/log?after=1&limit=1`))).toMatchObject({
      events: [{ seq: 2 }],
      next: 2,
    });
    const markdown = await get(`${base}/export`);
    expect(markdown.headers.get('content-type')).toContain('text/markdown');
    expect(await markdown.text()).toContain('hello');
    const exported = await json(get(`${base}/export?format=json`));
    expect(await json(send('POST', '/v1/chats/import?id=c2', exported), 201)).toMatchObject({
      id: 'c2',
    });

    expect(
      await json(send('POST', `${base}/clarifications/${batch}/redact`, { reason: 'r' })),
    ).toMatchObject({ event: { type: 'clarification_batch_redacted' }, erasedLines: 0 });
    expect(
      await json(send('POST', `${base}/messages/${hi.id}/redact`, { reason: 'r', erase: true })),
    ).toMatchObject({ erasedLines: 3 });
    await json(send('POST', `${base}/archive`));
    const refused = send('POST', `${base}/messages`, { role: 'user', content: 'x' });
    expect((await json<{ error: object }>(refused, 403)).error).toMatchObject({
      code: 'READ_ONLY',
    });
    await json(send('POST', `${base}/unarchive`));
    const events = [{ type: 'vote', payload: { a: 1 } }];
    await json(send('POST', `${base}/log`, { events }), 201);
    await json(send('PATCH', base, { pinned: true }));
    expect(await json(send('POST', '/v1/chats/retain', { maxBytes: 0 }))).toMatchObject({
      pinned: 1,
    });
    expect((await json<{ items: object[] }>(get('/v1/chats'))).items).toHaveLength(2);
    expect((await send('DELETE', base)).status).toBe(204);
    expect((await get(base)).status).toBe(404);
  });

  it('are followed as server-sent events from any event on', async () => {
    const { store, get } = await serveHttp();
    await store.chats.create({ id: 'c1' });
    const chat = await store.chats.open('c1');
    await chat.add({ role: 'user', content: 'one' });
    await chat.add({ role: 'user', content: 'two' });
    const stop = new AbortController();
    const response = await get('/v1/chats/c1/events', {
      headers: { 'last-event-id': '1' },
      signal: stop.signal,
    });
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    const until = async (wanted: string): Promise<void> => {
      while (!text.includes(wanted)) {
        const { value, done } = await reader.read();
        if (done) throw new Error(`the stream ended before ${wanted}`);
        text += value;
      }
    };
    await until('two');
    await chat.edit((await chat.messages()).messages[0]!.id, 'three');
    await until('three');
    expect(text).not.toContain('one');
    expect(text).toContain('id: 3\nevent: message_edited\ndata: {');
    stop.abort();
    expect((await get('/v1/chats/c1/events?after=x')).status).toBe(422);
  });

  it('are whole through the client, streams and erasure included', async () => {
    const { url, store: owner } = await serveHttp();
    await using store = await connectStore(url);
    await store.chats.create({ id: 'c1' });
    const chat = await store.chats.open('c1');
    const stream = await chat.stream({ role: 'assistant', id: 's' });
    for (const text of ['a ', 'b ', 'c']) await stream.write(text);
    await stream.complete();
    await chat.add({ role: 'user', content: 'x'.repeat(50_000), id: 'h' });
    const there = await owner.chats.open('c1');
    expect((await textsOf(there))[0]).toBe('a b c');
    await Promise.all(
      [chat, there].flatMap((one) =>
        [1, 2, 3].map((n) => one.add({ role: 'user', content: `${n}` })),
      ),
    );
    expect((await chat.status()).messages).toBe(8);
    expect(await chat.redact('h', { reason: 'r', erase: true })).toMatchObject({
      erasedLines: 1,
      erasedBlobs: 1,
    });
    expect(await join(there.export())).toBe(await join(chat.export()));
    expect(await chat.problems()).toEqual([]);
  });
});
