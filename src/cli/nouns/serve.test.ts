import { CliRig, type Ran } from '../../../test/cli/rig.ts';
import { projectPath } from '../../../test/support/project.ts';
import { openStore } from '../../open-store.ts';
import { PATIENCE } from '../../testing/patience.ts';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';

let rig: CliRig;
beforeEach(() => {
  rig = new CliRig({ onDisk: true });
  return () => rig[Symbol.dispose]();
});

const FREE = ['--port', '0', '--tcp-port', '0'];

interface Served {
  readonly http: string;
  readonly tcp: string;
  readonly cxdb?: string;
  stop(): Promise<Ran>;
}

/** Starts a server within this process; it stops as by Ctrl-C. */
async function serve(...argv: string[]): Promise<Served> {
  let ended: Promise<Ran> | undefined;
  const said = new Promise<string>((resolve, reject) => {
    rig.accept = (data) => resolve(String(data));
    ended = rig.run('serve', ...FREE, '--json', ...argv);
    ended.then(({ err }) => reject(new Error(err)), reject);
  });
  const addresses = JSON.parse(await said) as Omit<Served, 'stop'>;
  return {
    ...addresses,
    async stop() {
      rig.interrupt.abort();
      rig.interrupt = new AbortController();
      return (await ended) ?? { code: -1, out: '', err: '' };
    },
  };
}

it('serves both protocols until it is told to stop', async () => {
  const server = await serve();
  const health = await fetch(`${server.http}/healthz`);
  expect(await health.json()).toMatchObject({ status: 'ok' });
  const store = await openStore(server.tcp);
  const { id } = await store.contexts.create({ title: 'remote' });
  await store.contexts.append(id, { type: 'note', payload: 'kept' });
  await store.close();
  const { code, err } = await server.stop();
  expect(code).toBe(0);
  expect(err).toMatch(/"msg":"stopped"\}\n$/);
  await using embedded = await rig.open();
  expect((await embedded.contexts.last(id, 1)).turns[0]?.payload).toBe('kept');
});

it('gives those who ask by either protocol the same log', async () => {
  const server = await serve();
  await using store = await openStore(server.tcp);
  const { id } = await store.contexts.create({ name: 'main' });
  await store.contexts.appendBatch(
    id,
    Array.from({ length: 100 }, (_, n) => ({ type: 'note', payload: `text ${n}` })),
  );
  await store.contexts.append((await store.contexts.fork(50)).id, { type: 'note', payload: 'x' });
  const log = async (place: string): Promise<string[]> =>
    (await rig.run('log', '@main', '--graph', '--oneline', '-n', '200', '--store', place)).out
      .trimEnd()
      .split('\n');
  const lines = await log(server.tcp);
  expect(lines).toHaveLength(102);
  expect(lines.slice(0, 3)).toEqual([
    '* 101 (context 2) note x',
    '| * 100 (context 1 @main) note text 99',
    '| * 99 note text 98',
  ]);
  expect(lines.slice(50, 53)).toEqual(['| * 51 note text 50', '|/', '* 50 note text 49']);
  expect(await log(server.http)).toEqual(lines);
  await server.stop();
});

it('answers clients of cxdb at a port of their own', async () => {
  const server = await serve('--cxdb-port', '0');
  expect(server.cxdb).not.toBe(server.http);
  const made = await fetch(`${server.cxdb}/v1/contexts`, { method: 'POST' });
  expect(await made.json()).toEqual({ context_id: '1', head_turn_id: '0', head_depth: 0 });
  const asked = await fetch(`${server.cxdb}/v1/contexts`);
  expect(await asked.json()).toMatchObject({ contexts: [{ context_id: '1' }], count: 1 });
  const ours = await fetch(`${server.http}/v1/contexts`);
  expect(await ours.json()).toMatchObject({ items: [{ id: '1' }] });
  expect((await server.stop()).code).toBe(0);
});

it('answers for the folder, too', async () => {
  const server = await serve();
  const remote = await openStore(server.tcp);
  const { id } = await remote.contexts.create();
  const beside = await rig.open();
  await beside.contexts.append(id, { type: 'note', payload: 'by the folder' });
  expect((await remote.contexts.last(id, 1)).turns[0]?.payload).toBe('by the folder');
  await remote.close();
  expect((await server.stop()).code).toBe(0);
  await beside.contexts.append(id, { type: 'note', payload: 'without a server' });
  expect(await rig.run('serve', ...FREE)).toMatchObject({
    code: 1,
    err: expect.stringContaining(`process ${process.pid} on `) as string,
  });
  await beside.close();
});

it('prints where it is and how to append a first turn', async () => {
  let said = '';
  rig.accept = (data) => {
    said += String(data);
    rig.interrupt.abort();
  };
  expect(await rig.run('serve', ...FREE)).toMatchObject({ code: 0 });
  expect(said).toContain(`is serving ${join(rig.cwd, '.quipu')}`);
  expect(said).toMatch(/http +http:\/\/127\.0\.0\.1:\d+\n +tcp +quipu:\/\/127\.0\.0\.1:\d+\n/);
  expect(said).toMatch(/^ {2}quipu context append \$ctx /m);
});

it('lets in by token, and cuts off who held a revoked one', async () => {
  await rig.run('init');
  const token = (await rig.run('token', 'create', 'a')).out.trim();
  const server = await serve();
  await expect(openStore(server.tcp).then((s) => s.contexts.list())).rejects.toMatchObject({
    code: 'UNAUTHORIZED',
  });
  expect((await fetch(`${server.http}/v1/contexts`)).status).toBe(401);
  const authorization = `Bearer ${token}`;
  const asked = await fetch(`${server.http}/v1/contexts`, { headers: { authorization } });
  expect(asked.status).toBe(200);

  await using store = await openStore(server.tcp, { token });
  await store.contexts.create();
  await expect(store.maintain.gc()).rejects.toMatchObject({ code: 'FORBIDDEN' });
  await rig.run('token', 'revoke', 'a');
  const outcome = (): Promise<string> =>
    store.contexts.list().then(
      () => 'in',
      (error: { code: string }) => error.code,
    );
  await expect.poll(outcome, PATIENCE).toBe('UNAUTHORIZED');
  await server.stop();
});

it('ends the streams of a revoked token over HTTP', async () => {
  await rig.run('init');
  const token = (await rig.run('token', 'create', 'a')).out.trim();
  const server = await serve();
  const headers = { authorization: `Bearer ${token}` };
  const events = await fetch(`${server.http}/v1/events`, { headers });
  expect(events.status).toBe(200);
  const ended = events.text();
  await rig.run('token', 'revoke', 'a');
  await ended;
  await server.stop();
});

it('speaks TLS on both listeners', async () => {
  const [cert, key] = ['test/support/tls/cert.pem', 'test/support/tls/key.pem'].map(projectPath);
  const server = await serve('--tls-cert', cert!, '--tls-key', key!);
  expect(server.http).toMatch(/^https:/);
  const ca = readFileSync(cert!, 'utf8');
  await using store = await openStore(server.tcp, { ca });
  expect((await store.contexts.list()).items).toEqual([]);
  await server.stop();
});

it('is found well by the doctor', async () => {
  const server = await serve();
  const tcp = await rig.run('doctor', '--server', server.tcp);
  expect(tcp.code, tcp.out).toBe(0);
  const http = await rig.run('doctor', '--server', server.http);
  expect(http.out).toMatch(/^ok +server +ok, version /m);
  await server.stop();
  const gone = await rig.run('doctor', '--server', server.http);
  expect(gone.code).toBe(1);
  expect(gone.out).toMatch(/^fail +server +does not answer/m);
});

it('fills an empty store with a sample that goes on', async () => {
  const server = await serve('--demo');
  await using store = await openStore(server.tcp);
  const { items } = await store.contexts.list({ label: 'live' });
  const follow = store.contexts.follow(items[0]!.id, { openTurns: true });
  const states: string[] = [];
  for await (const turn of follow) {
    states.push(turn.state);
    if (turn.state === 'open') break;
  }
  expect(states).toEqual(['sealed', 'open']);
  await store.close();
  expect((await server.stop()).code).toBe(0);
});

describe('refuses, and makes nothing', () => {
  it.each([
    [
      'an address that others can reach, without tokens',
      ['--host', '0.0.0.0'],
      '--allow-anonymous',
    ],
    ['a certificate without its key', ['--tls-cert', 'c.pem'], '--tls-key'],
    ['a certificate that is not there', ['--tls-cert', 'c', '--tls-key', 'k'], 'ENOENT'],
    ['a certificate that is none', ['--tls-cert', 'junk', '--tls-key', 'junk'], 'PEM'],
    ['an address of another machine', ['--host', '192.0.2.1', '--allow-anonymous'], '192.0.2.1'],
    ['a port that is none', ['--port', '65536'], 'port'],
    ['a limit that lets nobody in', ['--max-connections', '0'], 'from 1'],
    ['a page for an origin', ['--allow-origin', 'https://a.example/x'], 'mean https://a.example?'],
    ['any origin at all', ['--allow-origin', '*'], 'such as https://app.example'],
    ['a level that is none', ['--log-level', 'loud'], 'debug'],
    ['the address of a server', ['--store', 'quipu://127.0.0.1:1'], 'folder'],
    ['tokens it does not understand', ['--token-file', 'junk'], 'token file'],
  ])('%s', async (_, argv, word) => {
    writeFileSync(join(rig.cwd, 'junk'), 'not what was asked for', { mode: 0o600 });
    const { code, out, err } = await rig.run('serve', ...FREE, '--log-level', 'silent', ...argv);
    expect({ code, out }, err).toEqual({ code: 2, out: '' });
    expect(err).toContain(word);
  });

  it('a sample over what is there', async () => {
    await rig.run('context', 'create');
    const { code, err } = await rig.run('serve', ...FREE, '--demo');
    expect(code).toBe(2);
    expect(err).toContain('empty store');
    expect((await rig.run('context', 'list', '--json')).out.split('\n')).toHaveLength(2);
  });

  it.each(['--port', '--tcp-port', '--cxdb-port'])(
    'a port for %s that is taken',
    async (option) => {
      const other = createServer().listen(0, '127.0.0.1');
      await once(other, 'listening');
      const { port } = other.address() as AddressInfo;
      const { code, out, err } = await rig.run('serve', ...FREE, option, String(port));
      other.close();
      expect({ code, out }, err).toEqual({ code: 1, out: '' });
      expect(err).toMatch(new RegExp(`port ${port} .* choose a port with ${option}\\n`));
      // The store was let go.
      await (await rig.open()).close();
    },
  );

  it('an address that others can reach before it makes a store', async () => {
    await rig.run('serve', ...FREE, '--host', '0.0.0.0');
    expect(existsSync(join(rig.cwd, '.quipu'))).toBe(false);
  });
});
