import { createServer } from 'node:net';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { HttpAsker } from './http-asker.ts';

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
