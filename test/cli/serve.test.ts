import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { get } from 'node:https';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openStore } from '../../src/open-store.ts';
import { projectPath } from '../support/project.ts';
import { PATIENCE } from '../../src/testing/patience.ts';

const TLS = projectPath('test/support/tls');

// The built command as a process of its own: signals, and what is left after them.

it(
  'finishes on SIGTERM what it has begun, and keeps all it acknowledged',
  { timeout: 60_000 },
  async () => {
    await using server = await startServer([]);
    const writers = await startWriters(server.tcp);
    await expect.poll(() => writers.acknowledged.length, PATIENCE).toBeGreaterThan(20);
    server.child.kill('SIGTERM');
    expect(await server.exited, server.log()).toEqual([0, null]);
    const acknowledged = await writers.stop();

    await using store = await openStore(server.store, { create: false });
    const { items } = await store.contexts.list();
    const kept = new Set<unknown>();
    for (const { id } of items) {
      for (const turn of (await store.contexts.last(id, 10_000)).turns) kept.add(turn.payload);
    }
    expect(acknowledged.filter((payload) => !kept.has(payload))).toEqual([]);
  },
);

it('speaks TLS at both addresses, and nothing else there', { timeout: 60_000 }, async () => {
  const tls = ['--tls-cert', join(TLS, 'cert.pem'), '--tls-key', join(TLS, 'key.pem')];
  await using server = await startServer(tls);
  const { http, tcp } = server;
  expect([http.split(':')[0], tcp.split(':')[0]]).toEqual(['https', 'quipus']);
  const ca = readFileSync(join(TLS, 'cert.pem'), 'utf8');
  expect(await getHealth(http, ca)).toBe(200);
  await expect(getHealth(http, undefined)).rejects.toThrow('self-signed');
  await expect(fetch(http.replace('https', 'http'))).rejects.toThrow('fetch failed');
  await using store = await openStore(tcp, { ca });
  expect((await store.contexts.create()).id).toBe(1n);
});

it('ends at once on a second signal', { timeout: 60_000 }, async () => {
  await using server = await startServer([]);
  const { hostname, port } = new URL(server.tcp);
  // A peer that never closes its side keeps a server waiting that means to leave in good order.
  const peer = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  await once(peer, 'connect');
  server.child.kill('SIGTERM');
  await expect.poll(() => server.log(), PATIENCE).toContain('a second signal ends it at once');
  server.child.kill('SIGTERM');
  expect(await server.exited).toEqual([null, 'SIGTERM']);
  peer.destroy();
});

it(
  'runs a handler of its own machine for a push from outside, as it was subscribed, and takes no other',
  { timeout: 60_000 },
  async () => {
    await using server = await startServer([]);
    const seen = join(server.store, '..', 'woken');
    await using local = await openStore(server.store);
    const own = await local.queues.open('inbox');
    // The handler pops, so that it has nothing left to do.
    const thread = `'${process.execPath}' '${projectPath('dist/cli/thread/main.js')}'`;
    const pop = `${thread} pop --thread '${join(server.store, 'queues', 'inbox')}' --consumer w --last-event-id 99`;
    // By a command: this process runs the sources, in which there is no program that runs handlers.
    const handler = `printf x >> '${seen}'; ${pop}`;
    const main = projectPath('dist/cli/main.js');
    const args = ['--store', server.store, '--handler', handler];
    execFileSync(process.execPath, [main, 'queue', 'subscribe', 'inbox', 'w', ...args]);
    let woken = 0;
    for (const way of ['tcp', 'http'] as const) {
      await using far = await openStore(server[way]);
      const inbox = await far.queues.open('inbox');
      await expect(inbox.subscribe({ consumer: 'mine', handler: 'true' })).rejects.toMatchObject({
        code: 'FORBIDDEN',
      });
      const evil = `$(printf evil >> '${seen}')`;
      await inbox.push({ source: evil, type: 'message', content: evil });
      const runs = (): number => (existsSync(seen) ? readFileSync(seen, 'utf8').length : 0);
      await expect.poll(runs, PATIENCE).toBeGreaterThan(woken);
      const states = async (): Promise<unknown[]> =>
        (await own.info()).progress.map(({ state }) => state);
      await expect.poll(states, PATIENCE).toEqual(['idle']);
      woken = runs();
    }
    expect(readFileSync(seen, 'utf8')).toMatch(/^x+$/);
  },
);

interface RunningServer extends AsyncDisposable {
  readonly child: ChildProcess;
  /** Its folder. */
  readonly store: string;
  readonly http: string;
  readonly tcp: string;
  /** What it ended with: a code or a signal. */
  readonly exited: Promise<unknown[]>;
  /** Standard error so far. */
  log(): string;
}

async function startServer(more: readonly string[]): Promise<RunningServer> {
  const folder = mkdtempSync(join(tmpdir(), 'quipu-serve-'));
  const place = ['--store', join(folder, 'store')];
  const argv = ['serve', '--port', '0', '--tcp-port', '0', '--json', ...place, ...more];
  const child = spawn(process.execPath, [projectPath('dist/cli/main.js'), ...argv]);
  const exited = once(child, 'exit');
  // Also when it never says that it is there.
  onTestFinished(() => void child.kill('SIGKILL'));
  let log = '';
  child.stderr.on('data', (data: Buffer) => void (log += data.toString()));
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return {
    ...(JSON.parse(line.toString()) as Pick<RunningServer, 'store' | 'http' | 'tcp'>),
    child,
    exited,
    log: () => log,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function getHealth(address: string, ca: string | undefined): Promise<number | undefined> {
  const request = get(`${address}/healthz`, ca === undefined ? {} : { ca });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  response.resume();
  return response.statusCode;
}

interface Writers {
  readonly acknowledged: readonly string[];
  stop(): Promise<readonly string[]>;
}

/** Eight writers that append as fast as they are answered. */
async function startWriters(address: string): Promise<Writers> {
  const store = await openStore(address);
  const acknowledged: string[] = [];
  const write = async (writer: number): Promise<void> => {
    const { id } = await store.contexts.create();
    for (let n = 0; ; n += 1) {
      const payload = `${writer}/${n}`;
      await store.contexts.append(id, { type: 'note', payload });
      acknowledged.push(payload);
    }
  };
  // Each ends with the error that says that the server, or the client, is gone.
  const ends = Array.from({ length: 8 }, (_, writer) => write(writer).catch(() => undefined));
  return {
    acknowledged,
    async stop() {
      await store.close();
      await Promise.all(ends);
      return acknowledged;
    },
  };
}
