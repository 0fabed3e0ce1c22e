import { once } from 'node:events';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { startServer } from '../../src/server/start-server.ts';
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

/** A browser that writes down the address it is given, which is what a list of processes shows. */
function fakeBrowser(rig: CliRig): { address: () => string } {
  const program = join(rig.cwd, 'browser');
  const noted = join(rig.cwd, 'opened');
  writeFileSync(
    program,
    `#!/bin/sh\nprintf '%s' "$*" > '${noted}.new'\nmv '${noted}.new' '${noted}'\n`,
  );
  chmodSync(program, 0o700);
  rig.env['BROWSER'] = program;
  return { address: () => (existsSync(noted) ? readFileSync(noted, 'utf8') : '') };
}

const exchange = (url: string, code: string): Promise<Response> =>
  fetch(`${url}/v1/sign-in`, { method: 'POST', headers: { authorization: `Bearer ${code}` } });

it('gives the browser a code that becomes the token once, and the token to nobody else', async () => {
  using rig = new CliRig({ onDisk: true });
  const store = join(rig.cwd, 'agents');
  await rig.run('context', 'create', '--store', store);
  await rig.run('token', 'create', 'mine', '--scope', 'admin', '--store', store);
  rig.now = Date.now;
  const browser = fakeBrowser(rig);
  const running = rig.run('open', '--port', '0', '--store', store);
  await expect.poll(browser.address).not.toBe('');
  const [, url, code] = /^(http:\/\/127\.0\.0\.1:\d+)\/#code=([\w-]{43})$/.exec(browser.address())!;
  const { token } = (await (await exchange(url!, code!)).json()) as { token: string };
  const headers = { authorization: `Bearer ${token}` };
  const me = await fetch(`${url}/v1/me`, { headers });
  expect(await me.json()).toMatchObject({ scope: 'admin' });
  const offered = await fetch(`${url}/v1/sign-in/code`, { method: 'POST', headers });
  expect(offered.status).toBe(201);
  // What a list of processes showed is worth nothing now.
  expect((await exchange(url!, code!)).status).toBe(401);
  expect((await exchange(url!, token)).status).toBe(401);
  rig.interrupt.abort();
  const { code: left, out } = await running;
  expect(left).toBe(0);
  // The terminal has the address with the token, for those who open it themselves. The token is good for twelve hours.
  expect(out).toBe(`${url}/#token=${token}\n`);
  const list = await rig.run('token', 'list', '--json', '--store', store);
  expect(list.out).toContain('"ui-');
});

it('opens the page of a server that has the store already and needs no token', async () => {
  using rig = new CliRig({ onDisk: true });
  const store = join(rig.cwd, 'agents');
  const silent = (): void => undefined;
  const server = await startServer({
    store,
    host: '127.0.0.1',
    httpPort: 0,
    tcpPort: 0,
    tokenFile: join(rig.cwd, 'tokens.json'),
    allowAnonymous: false,
    allowHandlers: false,
    origins: [],
    demo: false,
    version: '0',
    limits: {},
    log: { debug: silent, info: silent, warn: silent, error: silent },
  });
  onTestFinished(() => server.close(0));
  const browser = fakeBrowser(rig);
  const { code, out, err } = await rig.run(
    'ui',
    '--port',
    new URL(server.http).port,
    '--store',
    store,
  );
  expect(code, err).toBe(0);
  expect(out).toBe(`${server.http}\n`);
  await expect.poll(browser.address).toBe(server.http);
});

it('says so when there is no browser', async () => {
  using rig = new CliRig({ onDisk: true });
  const store = join(rig.cwd, 'agents');
  await rig.run('context', 'create', '--store', store);
  rig.env['BROWSER'] = join(rig.cwd, 'no-such-program');
  const running = rig.run('ui', '--port', '0', '--store', store);
  rig.interrupt.abort();
  const { err } = await running;
  expect(err).toContain('open the address yourself');
});
