import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, statSync, truncateSync } from 'node:fs';
import { Database } from '../../src/base/sqlite.ts';
import { describe, expect, it } from 'vitest';
import { queueFolder } from '../../src/queue/sqlite/queue-folder.ts';
import { createQueueFolder } from '../../src/queue/sqlite/open-database.ts';
import { SqliteQueue } from '../../src/queue/sqlite-queue.ts';
import { projectPath } from '../support/project.ts';
import { freshFolder } from '../../src/testing/fresh-folder.ts';

/**
 * Invariant: when a push is acknowledged, every byte of the write-ahead log is on the disk.
 *
 * Whether it is shows when the file is cut to nothing: the kernel counts, for the process that cuts, the bytes
 * that were waiting to be written and now never will be. A log that was synced has none. It works on file systems
 * that write to a disk; on others the broken variant shows nothing either, and the test says so.
 */
function unsynced(path: string): number {
  const before = cancelledBytes();
  truncateSync(path, 0);
  return cancelledBytes() - before;
}

function cancelledBytes(): number {
  const [, bytes] =
    /^cancelled_write_bytes: (\d+)$/m.exec(readFileSync('/proc/self/io', 'utf8')) ?? [];
  return Number(bytes);
}

/** Broken on purpose: what SQLite does in this mode unless it is told otherwise. */
function pushWithoutSync(path: string): number {
  const database = new Database(queueFolder(path).database);
  database.pragma('synchronous = NORMAL');
  const insert = database.prepare(
    "INSERT INTO events (source, type, content) VALUES ('s', 'message', ?)",
  );
  for (let round = 0; round < 10; round += 1) insert.run('x'.repeat(3000));
  return unsynced(`${queueFolder(path).database}-wal`);
}

describe('a push', () => {
  it.skipIf(process.platform !== 'linux')(
    'is on the disk when it is acknowledged',
    async (context) => {
      const broken = freshFolder();
      createQueueFolder(broken);
      if (pushWithoutSync(broken) === 0)
        context.skip('this file system does not tell what is unsynced');

      const path = freshFolder();
      createQueueFolder(path);
      const queue = new SqliteQueue(queueFolder(path), { wakes: false });
      for (let round = 0; round < 10; round += 1) {
        await queue.push({ source: 's', type: 'message', content: 'x'.repeat(3000) });
      }
      const log = `${queue.folder.database}-wal`;
      expect(statSync(log).size).toBeGreaterThan(30_000);
      expect(unsynced(log)).toBe(0);
    },
  );

  it('is there after a kill, with every event before it', { timeout: 60_000 }, async () => {
    const path = freshFolder();
    createQueueFolder(path);
    const acknowledged: number[] = [];
    for (const afterMs of [20, 100, 250]) acknowledged.push(...(await killPusher(path, afterMs)));
    const queue = new SqliteQueue(queueFolder(path), { wakes: false });
    await queue.push({ source: 's', type: 'message', content: 'last' });
    const ids = (await queue.peek({ lastEventId: 0, limit: 100_000 })).map(({ id }) => id);
    expect(ids).toEqual(Array.from({ length: ids.length }, (_, at) => at + 1));
    expect(acknowledged.filter((id) => id > ids.length)).toEqual([]);
    const lines = readFileSync(queue.folder.mirror, 'utf8').split('\n').slice(0, -1);
    expect(lines.map((line) => (JSON.parse(line) as { id: number }).id)).toEqual(ids);
    await queue.close();
  });

  it('would be missed if it were acknowledged before it is stored', async () => {
    const path = freshFolder();
    createQueueFolder(path);
    const acknowledged = await killPusher(path, 60_000, 'early');
    const queue = new SqliteQueue(queueFolder(path), { wakes: false });
    const { last_event_id } = await queue.info();
    await queue.close();
    expect(acknowledged.at(-1)).toBeGreaterThan(last_event_id);
  });
});

/** What a process that pushes acknowledged until it was killed, some time after its first word. */
async function killPusher(path: string, afterMs: number, ...how: string[]): Promise<number[]> {
  const args = [projectPath('test/queue/pusher.mjs'), path, '100000', 'p', ...how];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let out = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stdout.once('data', () => setTimeout(() => child.kill('SIGKILL'), afterMs));
  await once(child, 'close');
  return out.split('\n').slice(0, -1).map(Number);
}
