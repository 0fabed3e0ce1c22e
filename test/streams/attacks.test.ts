import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { isQuipuError } from '../../src/base/errors.ts';
import { streamDoc } from '../../src/stream/stream-record.ts';
import { PATIENCE } from '../../src/testing/patience.ts';
import { serveForAttack, WAYS } from '../service/attack-rig.ts';
import { serveHttp, type HttpRig } from '../service/http-rig.ts';

// Names, positions, bodies and readers that mean harm.

const AT = '/v1/streams';
const TEXT = { 'content-type': 'text/plain' };
const JSON_TYPE = { 'content-type': 'application/json' };

function write(
  { url }: HttpRig,
  methodAndName: string,
  body?: string | Uint8Array,
  headers: Record<string, string> = TEXT,
): Promise<Response> {
  const [method = '', name] = methodAndName.split(' ');
  return fetch(`${url}${AT}/${name}`, { method, headers, ...(body !== undefined && { body }) });
}

/** A request whose path nobody tidies up on the way. */
function raw({ port }: HttpRig, method: string, path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = httpRequest({ port, host: '127.0.0.1', method, path }, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    });
    asked.on('error', reject).end();
  });
}

describe('names', () => {
  it.each([
    '..',
    '../contexts',
    'a/../../tokens.json',
    '%2e%2e/a',
    'a%2fb',
    'a%00b',
    'a%5cb',
    'a//b',
    'a/',
    '%0a',
    '%ff',
    '%ZZ',
    'a%',
    '%c3%28',
    'x'.repeat(501),
    '%F0%9F%92%A9'.repeat(126),
  ])('such as %s make nothing', async (name) => {
    const rig = await serveHttp();
    const before = await rig.store.maintain.stats();
    expect([400, 404, 422]).toContain(await raw(rig, 'PUT', `${AT}/${name}`));
    const after = await rig.store.maintain.stats();
    expect([after.docs, after.contexts]).toEqual([before.docs, before.contexts]);
  });

  it('that differ are different streams, escapes and all', async () => {
    const rig = await serveHttp();
    const names = ['%25ff', '%25FF', '%2525ff', '%c3%bf', 'ff'];
    for (const name of names) expect((await write(rig, `PUT ${name}`, name)).status).toBe(201);
    for (const name of names) {
      expect(await (await fetch(`${rig.url}${AT}/${name}`)).text()).toBe(name);
    }
    const { items } = await rig.store.contexts.list({ kind: 'stream' });
    expect(new Set(items.map(({ name }) => name))).toEqual(
      new Set(['stream:%ff', 'stream:%FF', 'stream:%25ff', 'stream:ÿ', 'stream:ff']),
    );
  });

  it('of documents that the store trusts are names like any other', async () => {
    const rig = await serveHttp();
    for (const name of [
      'contexts/1',
      'pins/turns.json',
      'session/evil',
      'streams/x',
      'docs',
      'a%3Ab',
    ]) {
      expect((await write(rig, `PUT ${name}`, 'x')).status).toBe(201);
    }
    expect(await rig.store.contexts.list({ kind: 'stream' })).toMatchObject({
      items: { length: 6 },
    });
    expect(await rig.store.contexts.pins()).toEqual([]);
  });

  it.each(['../x', '/v1/streams/', 'a//b', '%', '%2e%2e', '\u00ff'])(
    'of sources such as %j are refused',
    async (from) => {
      const rig = await serveHttp();
      const answer = await write(rig, 'PUT fork', undefined, { 'stream-forked-from': from });
      expect([400, 404]).toContain(answer.status);
    },
  );
});

describe('clients with a token', () => {
  it('read with read, and write with write', async () => {
    const { fetch: ask } = await serveForAttack();
    expect((await ask('PUT', `${AT}/s`, {}, 'read')).status).toBe(403);
    expect((await ask('PUT', `${AT}/s`, {}, 'write')).status).toBe(201);
    expect((await ask('POST', `${AT}/s`, {}, 'read')).status).toBe(403);
    expect((await ask('DELETE', `${AT}/s`, undefined, 'read')).status).toBe(403);
    expect((await ask('GET', `${AT}/s`, undefined, 'read')).status).toBe(200);
  });

  it.each(WAYS)('cannot write the documents of streams over %s', async (way) => {
    const rig = await serveForAttack();
    const { engine } = rig.client(way, 'admin');
    const record = { v: 1, name: 's', type: 'text/plain', forks: 0, closed: 0 };
    for (const name of [streamDoc('s'), `stream-producers/${'ab'.repeat(32)}/${'cd'.repeat(32)}`]) {
      const planted = engine.commit({ docs: [{ name, content: JSON.stringify(record) }] });
      await expect(planted).rejects.toSatisfy((error) => isQuipuError(error, 'FORBIDDEN'));
    }
    // The owner may, and so the check has something to keep out.
    const doc = { name: streamDoc('s'), content: JSON.stringify(record) };
    await expect(rig.served.engine.commit({ docs: [doc] })).resolves.toBeDefined();
  });
});

describe('positions', () => {
  it('that the server did not give are refused', async () => {
    const rig = await serveHttp();
    await write(rig, 'PUT s', 'x');
    const zeros = '0'.repeat(16);
    for (const offset of [
      '0',
      '-2',
      '1e3',
      `${'9'.repeat(16)}_${zeros}`,
      `${zeros}_1${zeros.slice(1)}`,
      `${zeros}_${zeros}0`,
      '٠'.repeat(16),
    ]) {
      const path = `${AT}/s?offset=${encodeURIComponent(offset)}`;
      expect([offset, (await rig.get(path)).status]).toEqual([offset, 400]);
      expect((await rig.get(`${path}&live=sse`)).status).toBe(400);
    }
    expect((await rig.get(`${AT}/s?offset=-1&live=forever`)).status).toBe(400);
  });

  it('beyond the end wait like the end, and never go back', async () => {
    const rig = await serveHttp({ limits: { longPollMs: 50 } });
    await write(rig, 'PUT s', 'x');
    const far = `${'9'.padStart(16, '0')}_${'0'.repeat(16)}`;
    for (const live of ['', '&live=long-poll']) {
      const answer = await rig.get(`${AT}/s?offset=${far}${live}`);
      expect([200, 204]).toContain(answer.status);
      expect(answer.headers.get('stream-next-offset')).toBe(far);
    }
  });

  it.each(['9'.repeat(15), '9'.repeat(400), '-1', 'NaN', '%00'])(
    'with the cursor %s get a cursor that is a number',
    async (cursor) => {
      const rig = await serveHttp();
      await write(rig, 'PUT s', 'x');
      const answer = await rig.get(`${AT}/s?offset=-1&live=long-poll&cursor=${cursor}`);
      expect(answer.headers.get('stream-cursor')).toMatch(/^\d{1,16}$/);
    },
  );
});

describe('bodies and headers', () => {
  it('beyond the limits store nothing', async () => {
    const rig = await serveHttp({ limits: { bodyBytes: 1000 } });
    await write(rig, 'PUT s', 'x');
    const refusals: [number, string | Uint8Array, Record<string, string>][] = [
      [413, 'x'.repeat(1001), TEXT],
      [400, 'x', { ...TEXT, 'stream-seq': 'x'.repeat(1025) }],
      [
        400,
        'x',
        { ...TEXT, 'producer-id': 'x'.repeat(1025), 'producer-epoch': '0', 'producer-seq': '0' },
      ],
      [
        400,
        'x',
        { ...TEXT, 'producer-id': 'p', 'producer-epoch': '0', 'producer-seq': '9'.repeat(16) },
      ],
      [400, 'x', { 'content-type': 'no type' }],
    ];
    for (const [status, body, headers] of refusals) {
      expect((await write(rig, 'POST s', body, headers)).status).toBe(status);
    }
    expect(await (await rig.get(`${AT}/s`)).text()).toBe('x');
  });

  it('of JSON that would fill the memory when parsed are refused', async () => {
    const rig = await serveHttp();
    await write(rig, 'PUT s', undefined, JSON_TYPE);
    const deep = '['.repeat(100_000) + ']'.repeat(100_000);
    const wide = `[${'0,'.repeat(1_000_001)}0]`;
    for (const bomb of [deep, wide]) {
      expect((await write(rig, 'POST s', bomb, JSON_TYPE)).status).toBe(400);
    }
  });

  it('cannot make a page of the server out of a stream', async () => {
    const rig = await serveHttp();
    const html = { 'content-type': 'text/html' };
    await write(rig, 'PUT page', '<script>alert(1)</script>', html);
    const answer = await rig.get(`${AT}/page`);
    expect(answer.headers.get('content-type')).toBe('text/html');
    expect(answer.headers.get('content-security-policy')).toContain('sandbox');
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
  });
});

describe('what others write into the context of a stream', () => {
  it('does not break it: other turns are passed over, patches and tombstones count', async () => {
    const rig = await serveHttp();
    await write(rig, 'PUT s', '[1,2]', JSON_TYPE);
    const { items } = await rig.store.contexts.list({ kind: 'stream' });
    const { id, head } = items[0]!;
    await rig.store.contexts.append(id, { type: 'note', payload: 'not a message' });
    await write(rig, 'POST s', '{"three":3}', JSON_TYPE);
    const body = async (): Promise<unknown> => (await rig.get(`${AT}/s`)).json();
    expect(await body()).toEqual([1, 2, { three: 3 }]);
    const before = (await rig.get(`${AT}/s`)).headers.get('etag');
    await rig.store.contexts.patch(head, { gone: true });
    expect(await body()).toEqual([{ gone: true }, { three: 3 }]);
    expect((await rig.get(`${AT}/s`)).headers.get('etag')).not.toBe(before);
    await rig.store.contexts.tombstone(head, 'secret');
    expect(await body()).toEqual([{ three: 3 }]);
    const fork = {
      'stream-forked-from': 's',
      'stream-fork-offset': `${'0'.repeat(16)}_${'0'.repeat(16)}`,
      'stream-fork-sub-offset': '1',
    };
    expect((await write(rig, 'PUT leak', undefined, fork)).status).toBe(400);
  });
});

describe('readers that wait', () => {
  it(
    'are a thousand at a time, cost little, and all get the message',
    { timeout: 60_000 },
    async () => {
      const rig = await serveHttp({ limits: { connections: 1100 } });
      await write(rig, 'PUT s', 'x');
      const end = (await rig.get(`${AT}/s`)).headers.get('stream-next-offset');
      const texts = Array.from({ length: 1000 }, () => '');
      const sockets = texts.map((_, nth) => {
        const socket = connect({ port: rig.port, host: '127.0.0.1' });
        socket.setEncoding('latin1').on('error', () => undefined);
        socket.on('data', (text: string) => {
          texts[nth] += text;
        });
        socket.write(
          `GET ${AT}/s?offset=${end}&live=long-poll HTTP/1.1\r\nHost: localhost\r\n\r\n`,
        );
        return socket;
      });
      onTestFinished(() => {
        for (const socket of sockets) socket.destroy();
      });
      const open = async (): Promise<number> => {
        const [, count] =
          /quipu_connections\{protocol="http"\} (\d+)/.exec(
            await (await rig.get('/metrics')).text(),
          ) ?? [];
        return Number(count);
      };
      await vi.waitFor(async () => expect(await open()).toBeGreaterThanOrEqual(1000), PATIENCE);
      expect(texts.filter((text) => text !== '')).toEqual([]);
      expect((await write(rig, 'POST s', 'to all')).status).toBe(204);
      await vi.waitFor(
        () => expect(texts.filter((text) => text.includes('to all'))).toHaveLength(1000),
        PATIENCE,
      );
    },
  );

  it('learn of a deletion, and of a server that stops', async () => {
    const rig = await serveHttp({ limits: { longPollMs: 600_000 } });
    for (const name of ['a', 'b']) await write(rig, `PUT ${name}`, 'x');
    const deleted = rig.get(`${AT}/a?offset=now&live=long-poll`);
    const events = await rig.get(`${AT}/a?offset=now&live=sse`);
    const stopped = rig.get(`${AT}/b?offset=now&live=long-poll`);
    await write(rig, 'DELETE a');
    expect((await deleted).status).toBe(404);
    expect(await events.text()).toMatch(/^event: control\n.*\n\n$/);
    await rig.stop();
    // A request that comes too late finds no server.
    expect([204, 'none']).toContain(
      await stopped.then(
        ({ status }) => status,
        () => 'none',
      ),
    );
  });
});
