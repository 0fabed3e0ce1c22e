// Serves a new store until its parent goes. Run with an IPC channel: it sends its port, and answers every
// message with the bytes that it occupies.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openFilesEngine } from '../../dist/engine/files/open-files-engine.js';
import { openAccess } from '../../dist/server/access.js';
import { BinaryServer } from '../../dist/server/binary/binary-server.js';
import { createStore } from '../../dist/store/create-store.js';

const folder = mkdtempSync(join(tmpdir(), 'quipu-flood-'));
const engine = await openFilesEngine(folder, { durability: 'unsafe' });
const store = createStore(engine);
const access = {
  tokensNeeded: true,
  identify: async (token) => (token === 'good' ? openAccess.identify(token) : undefined),
};
const limits = { connections: 3000 };
const server = new BinaryServer({ served: { engine, store }, calls: new Map(), limits });
const { port } = await server.listen({ host: '127.0.0.1', port: 0 }, openAccess);
const guarded = await server.listen({ host: '127.0.0.1', port: 0 }, access);

process.on('message', () => {
  globalThis.gc?.();
  process.send({ rss: process.memoryUsage().rss, connections: server.connections });
});
async function end() {
  await server.close(0);
  await store.close();
  rmSync(folder, { recursive: true, force: true });
}

process.on('disconnect', () => void end());
process.send({ port, guardedPort: guarded.port });
