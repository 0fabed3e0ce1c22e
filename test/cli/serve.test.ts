import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openStore } from '../../src/open-store.ts';
import { projectPath } from '../support/project.ts';

// The built command as a process of its own: signals, and what is left after them.

it(
  'finishes on SIGTERM what it has begun, and keeps all it acknowledged',
  { timeout: 60_000 },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'quipu-serve-'));
    const place = join(folder, 'store');
    const argv = ['serve', '--port', '0', '--tcp-port', '0', '--json', '--store', place];
    const child = spawn(process.execPath, [projectPath('dist/cli/main.js'), ...argv]);
    const exited = once(child, 'exit');
    let err = '';
    child.stderr.on('data', (data: Buffer) => void (err += data.toString()));
    try {
      const [line] = (await once(child.stdout, 'data')) as [Buffer];
      const { tcp } = JSON.parse(line.toString()) as { tcp: string };
      const writers = await startWriters(tcp);
      await expect.poll(() => writers.acknowledged.length).toBeGreaterThan(20);
      child.kill('SIGTERM');
      expect(await exited, err).toEqual([0, null]);
      const acknowledged = await writers.stop();

      await using store = await openStore(place, { create: false });
      const { items } = await store.contexts.list();
      const kept = new Set<unknown>();
      for (const { id } of items) {
        for (const turn of (await store.contexts.last(id, 10_000)).turns) kept.add(turn.payload);
      }
      expect(acknowledged.filter((payload) => !kept.has(payload))).toEqual([]);
    } finally {
      child.kill('SIGKILL');
      await exited;
      rmSync(folder, { recursive: true, force: true });
    }
  },
);

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
