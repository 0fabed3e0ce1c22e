import { createServer as createHttpServer } from 'node:http';
import type { RequestListener } from 'node:http';
import { createServer } from 'node:net';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { HttpAsker, readWhole } from './http-asker.ts';
import { WebClient } from './web-client.ts';

it('says that a connection was refused, and where', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  for (const host of ['127.0.0.1', 'localhost']) {
    const asker = new HttpAsker(`http://${host}:${port}`);
    const asked = asker.ask({ method: 'GET', path: '/v1/stats' });
    await expect(asked).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringMatching(
        new RegExp(`\\(ECONNREFUSED\\): nothing listens at .*:${port}$`),
      ) as string,
    });
  }
});

it('says that a port is not for HTTP, where nothing was sent', async () => {
  const asked = new HttpAsker('http://127.0.0.1:9').ask({ method: 'GET', path: '/v1/stats' });
  await expect(asked).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    message: 'requests by HTTP may not go to this port; let the server use another',
  });
});

async function serve(listener: RequestListener): Promise<string> {
  const server = createHttpServer(listener).listen(0, '127.0.0.1');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('a server that means harm', () => {
  it.each([301, 302, 303, 307, 308])('sends no client elsewhere with %i', async (status) => {
    let asked = 0;
    const elsewhere = await serve((_, answer) => {
      asked += 1;
      answer.end('{}');
    });
    const url = await serve((_, answer) => {
      answer.writeHead(status, { location: `${elsewhere}/v1/stats` }).end();
    });
    const client = new WebClient(url, { token: 'secret' });
    await expect(client.append(1, { type: 'x', payload: 'private' })).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message: expect.stringContaining(elsewhere) as string,
    });
    expect(asked).toBe(0);
  });

  it('fills no memory with an error or an answer without end', async () => {
    const piece = Buffer.alloc(256 * 1024, ' ');
    const url = await serve((request, answer) => {
      answer.writeHead(request.url === '/error' ? 500 : 200);
      const go = (): void => {
        while (answer.write(piece)) continue;
      };
      answer.on('drain', go);
      go();
    });
    const asker = new HttpAsker(url);
    const large = {
      code: 'UNAVAILABLE',
      message: expect.stringContaining('has more than') as string,
      data: { outcome: 'unknown' },
    };
    await expect(asker.ask({ method: 'GET', path: '/error' })).rejects.toMatchObject(large);
    const answer = await asker.ask({ method: 'GET', path: '/' });
    await expect(readWhole(answer, 1024 * 1024)).rejects.toMatchObject(large);
  });

  it('unpacks no more than is allowed, however short it says that the answer is', async () => {
    const packed = gzipSync(Buffer.alloc(4 * 1024 * 1024));
    const url = await serve((_, answer) => {
      const headers = { 'content-encoding': 'gzip', 'content-length': packed.length };
      answer.writeHead(200, headers).end(packed);
    });
    const answer = await new HttpAsker(url).ask({ method: 'GET', path: '/' });
    await expect(readWhole(answer, 1024 * 1024)).rejects.toThrow('has more than');
  });

  it.each([{ 'content-length': 10 }, {}])('keeps nobody waiting, with %j', async (headers) => {
    const url = await serve((_, answer) => {
      answer.writeHead(200, headers).write('{');
    });
    const answer = await new HttpAsker(url).ask({ method: 'GET', path: '/' });
    await expect(readWhole(answer, 1024, 50)).rejects.toMatchObject({
      message: 'the server stopped answering',
      data: { outcome: 'unknown' },
    });
  });
});
