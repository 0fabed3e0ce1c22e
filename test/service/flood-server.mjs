// Serves a new store until its parent goes. Run with an IPC channel: it sends its ports, and answers every
// message with the bytes that it occupies and has occupied at most, and the time it has worked.
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openFilesEngine } from '../../dist/engine/files/open-files-engine.js';
import { openAccess } from '../../dist/server/access/access.js';
import { BinaryServer } from '../../dist/server/binary/binary-server.js';
import { createCalls } from '../../dist/server/calls/create-calls.js';
import { createHttpServer } from '../../dist/server/http/create-http-server.js';
import { ByteBudget } from '../../dist/server/memory/byte-budget.js';
import { createStore } from '../../dist/store/create-store.js';
import { peakBytes } from '../support/peak-memory.mjs';

const folder = mkdtempSync(join(tmpdir(), 'quipu-flood-'));
const engine = await openFilesEngine(folder, { durability: 'unsafe' });
const store = createStore(engine, { folder, queues: { folder: join(folder, 'queues') } });
const access = {
  tokensNeeded: true,
  identify: async (token) => (token === 'good' ? openAccess.identify(token) : undefined),
};
const served = { engine, store };
const limits = { connections: 3000 };
const calls = createCalls(served);
const isBoundless = process.argv[2] === 'boundless';
const budget = isBoundless ? new ByteBudget(Infinity, Infinity) : new ByteBudget();
const server = new BinaryServer({ served, calls, limits, budget });
const { port } = await server.listen({ host: '127.0.0.1', port: 0 }, openAccess);
const guarded = await server.listen({ host: '127.0.0.1', port: 0 }, access);
const http = createHttpServer({ served, calls, access: openAccess, limits, budget });
const boundless = createServer((_, outgoing) => outgoing.end(Buffer.alloc(10_000_000, 1)));
const httpPort = isBoundless
  ? await new Promise((resolve) => {
      boundless.listen(0, '127.0.0.1', () => resolve(boundless.address().port));
    })
  : (await http.listen(0, '127.0.0.1')).port;

let lookedMs = 0;

process.on('message', () => {
  const beganMs = cpuMsSoFar();
  globalThis.gc?.();
  const { rss, heapUsed, external } = process.memoryUsage();
  const peak = peakBytes();
  const inherited = process.resourceUsage().maxRSS * 1024;
  const { connections } = server;
  const cpuMs = beganMs - lookedMs;
  process.send({ rss, peak, inherited, used: heapUsed + external, connections, cpuMs });
  lookedMs += cpuMsSoFar() - beganMs;
});

function cpuMsSoFar() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

async function end() {
  boundless.close();
  await Promise.all([server.close(0), http.close(0)]);
  await store.close();
  rmSync(folder, { recursive: true, force: true });
}

process.on('disconnect', () => void end());
process.send({ port, guardedPort: guarded.port, httpPort });
