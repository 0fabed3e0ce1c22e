import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { CliRig } from './rig.ts';

/** A program of somebody else that listens where a server is looked for, and keeps the tokens that it is shown. */
async function listenForTokens(): Promise<{ port: number; asked: number; tokens: string[] }> {
  const heard = { port: 0, asked: 0, tokens: [] as string[] };
  const server = createServer(({ headers }, response) => {
    heard.asked += 1;
    if (headers.authorization !== undefined) heard.tokens.push(headers.authorization);
    response.writeHead(401, { 'content-type': 'application/json' }).end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  heard.port = (server.address() as AddressInfo).port;
  return heard;
}

it('shows no token to a program that it finds at the port, and serves the store itself', async () => {
  using rig = new CliRig({ onDisk: true });
  const store = join(rig.cwd, 'agents');
  await rig.run('context', 'create', '--store', store);
  await rig.run('token', 'create', 'mine', '--scope', 'admin', '--store', store);
  const heard = await listenForTokens();
  let printed = '';
  rig.accept = (data) => {
    printed += String(data);
    if (printed.includes('\n')) rig.interrupt.abort();
  };
  const port = String(heard.port);
  const { code, err } = await rig.run('ui', '--no-browser', '--port', port, '--store', store);
  expect(code, err).toBe(0);
  expect(heard.asked).toBe(1);
  expect(heard.tokens).toEqual([]);
  expect(printed).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#token=[\w-]+\n$/);
  expect(printed).not.toContain(`:${port}/`);
});
