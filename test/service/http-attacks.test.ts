import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { projectPath } from '../support/project.ts';
import { serveHttp } from './http-rig.ts';

// Attacks on a served store that are over in a moment. Whatever was tried, the server answers the next one, and the
// store has what it was given in the right way and nothing else.

const pem = (name: string): string =>
  readFileSync(projectPath(`test/support/tls/${name}.pem`), 'utf8');
const tls = { cert: pem('cert'), key: pem('key') };

describe('TLS', () => {
  const attacks: Record<string, (port: number) => Socket> = {
    'noise in place of a handshake': (port) => say(connect(port, '127.0.0.1'), randomBytes(4096)),
    'a request in the clear': (port) =>
      say(connect(port, '127.0.0.1'), 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'),
    'a record of an impossible length': (port) =>
      say(connect(port, '127.0.0.1'), Buffer.from('160301ffff01', 'hex')),
    'a version that is too old': (port) =>
      connectTls({
        port,
        host: '127.0.0.1',
        rejectUnauthorized: false,
        minVersion: 'TLSv1',
        maxVersion: 'TLSv1.1',
        ciphers: 'DEFAULT@SECLEVEL=0',
      }),
    'noise after the handshake': (port) => {
      const raw = connect(port, '127.0.0.1');
      connectTls({ socket: raw, rejectUnauthorized: false })
        .on('error', () => undefined)
        .on('secureConnect', () => raw.write(randomBytes(4096)));
      return raw;
    },
    'one handshake after the other': (port) => {
      const socket = connectTls({
        port,
        host: '127.0.0.1',
        rejectUnauthorized: false,
        maxVersion: 'TLSv1.2',
      });
      const again = (): void => void socket.renegotiate({}, (error) => error ?? again());
      return socket.on('secureConnect', again);
    },
  };

  it.each(Object.keys(attacks))('%s ends that connection and no other', async (name) => {
    const { port } = await serveHttp({ tls, limits: { headersMs: 500 } });
    const socket = attacks[name]!(port);
    await new Promise((resolve) => {
      socket
        .on('error', () => undefined)
        .once('close', resolve)
        .resume();
    });
    const status = await new Promise((resolve, reject) => {
      const asked = { host: '127.0.0.1', port, path: '/healthz', rejectUnauthorized: false };
      request(asked, (response) => resolve(response.resume().statusCode))
        .on('error', reject)
        .end();
    });
    expect(status).toBe(200);
  });
});

describe('an upload', () => {
  const PUT = 'PUT /v1/blobs HTTP/1.1\r\nHost: localhost\r\n';

  it.each([
    ['of two lengths', `${PUT}Content-Length: 3\r\nContent-Length: 30\r\n\r\nabc`],
    [
      'of a length and in chunks',
      `${PUT}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    ],
    [
      'in a chunk that is longer than numbers go',
      `${PUT}Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nabc`,
    ],
    ['in no chunks', `${PUT}Transfer-Encoding: chunked\r\n\r\nxyz\r\n`],
    ['of a length that is none', `${PUT}Content-Length: -3\r\n\r\nabc`],
    ['in an unknown coding', `${PUT}Transfer-Encoding: gzip\r\n\r\nabc`],
    ['that stops', `${PUT}Content-Length: 300\r\n\r\nabc`],
    ['that stops in a chunk', `${PUT}Transfer-Encoding: chunked\r\n\r\nff\r\nabc`],
  ])('%s stores nothing and ends its connection', async (_, words) => {
    const { port, store } = await serveHttp({ limits: { stallMs: 300 } });
    const text = await talk(port, words);
    expect(text).not.toMatch(/^HTTP\/1.1 2/);
    expect(await store.maintain.stats()).toMatchObject({ blobs: 0 });
  });

  it('of less than is sent ends its connection, and the rest is no request', async () => {
    const { port, store } = await serveHttp();
    const { id } = await store.contexts.create();
    const text = await talk(port, `${PUT}Content-Length: 3\r\n\r\nabc DELETE /v1/contexts/1`);
    expect(text).toContain('HTTP/1.1 400');
    expect(await store.contexts.get(id)).toBeDefined();
  });

  it('is not waited for in memory when its arguments say that they are long', async () => {
    const { url } = await serveHttp();
    const put = (head: number): Promise<Response> => {
      const body = Buffer.alloc(1000);
      body.writeUInt32LE(head);
      return fetch(`${url}/v1/call/engine.putBlob`, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/octet-stream' },
      });
    };
    expect((await put(0xffff_ffff)).status).toBe(422);
    expect((await put(100_000)).status).toBe(422);
  });
});

describe('an archive', () => {
  it('that claims to be more than it may is refused before it is made', async () => {
    const { send, store } = await serveHttp();
    const bomb = (events: unknown): object => ({
      quipu_chat: 1,
      meta: { session_id: 'c' },
      events,
    });
    let deep: unknown = [];
    for (let level = 0; level < 80; level += 1) deep = [deep];
    for (const events of [deep, Array(1_000_001).fill(0), [{ seq: 1e300 }], [null], ['x'], {}]) {
      const answer = await send('POST', '/v1/chats/import', bomb(events));
      expect([413, 422]).toContain(answer.status);
    }
    expect((await store.chats.list()).items).toEqual([]);
  });

  it('in a coding that the server does not know is not unpacked', async () => {
    const { url, store } = await serveHttp();
    const answer = await fetch(`${url}/v1/contexts`, {
      method: 'POST',
      body: Buffer.from('H4sIAAAAAAAAA6uuBQBDv6ajAgAAAA==', 'base64'),
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
    });
    expect(answer.status).toBe(422);
    expect(await store.maintain.stats()).toMatchObject({ contexts: 0 });
  });
});

function say(socket: Socket, words: string | Uint8Array): Socket {
  socket.write(words);
  return socket;
}

/** All that the server says to that, until the connection ends. */
function talk(port: number, words: string): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    const socket = say(connect(port, '127.0.0.1'), words);
    socket.on('data', (piece) => {
      text += String(piece);
    });
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(text));
  });
}
