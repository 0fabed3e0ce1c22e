/** Invariant: what a queue keeps, its owner alone can read, whatever the process lets others do with new files. */
import { lstatSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createQueues } from '../../src/queue/sqlite-queue.ts';
import { copyQueues } from '../../src/queue/upkeep/queue-health.ts';
import { message } from './fixture.ts';
import { SUPERVISOR, eventually } from './rig.ts';
import { freshFolder } from '../../src/testing/fresh-folder.ts';

/** Everything in a folder that others may do something with. */
function openToOthers(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return names.filter((name) => (lstatSync(join(folder, name)).mode & 0o077) !== 0).toSorted();
}

describe.skipIf(process.platform === 'win32')('the files of a queue', () => {
  it('are for their owner alone', async () => {
    const mask = process.umask(0);
    onTestFinished(() => void process.umask(mask));
    const folder = freshFolder();
    const parent = join(folder, 'store', 'queues');
    const queues = createQueues(parent, { supervisor: SUPERVISOR });
    const inbox = await queues.open('inbox');
    const path = join(parent, 'inbox');
    // The locks are there while the handler runs.
    await inbox.subscribe({
      consumer: 'w',
      handler: 'until [ -e "$THREAD_DIR/go" ]; do sleep 0.05; done',
    });
    await inbox.push(message('a'));
    await eventually(() => readdirSync(join(path, 'run')).length > 0);
    await copyQueues(parent, join(folder, 'backup', 'queues'));
    expect(openToOthers(folder)).toEqual([]);
    const files = readdirSync(path, { recursive: true, encoding: 'utf8' });
    expect(files).toEqual(
      expect.arrayContaining(['events.db', 'events.db-wal', 'events.jsonl', 'run/w.lock']),
    );
    // What the process itself makes without care is what it looks for.
    writeFileSync(join(path, 'go'), '');
    expect(openToOthers(folder)).toEqual(['store/queues/inbox/go']);
    await eventually(() => readdirSync(join(path, 'run')).length === 0);
    // What is deleted comes back as it was.
    rmSync(join(path, 'go'));
    for (const name of ['logs', 'run', 'events.jsonl'])
      rmSync(join(path, name), { recursive: true });
    await inbox.push(message('b'));
    await queues.close();
    await eventually(() => readdirSync(join(path, 'logs')).length > 0);
    expect(openToOthers(folder)).toEqual([]);
  });
});
