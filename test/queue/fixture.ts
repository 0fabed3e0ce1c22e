import { readFileSync } from 'node:fs';
import { onTestFinished } from 'vitest';
import { queueFolder } from '../../src/queue/sqlite/queue-folder.ts';
import { createQueueFolder } from '../../src/queue/sqlite/open-database.ts';
import type { NewEvent, QueueEvent } from '../../src/queue/events/queue.ts';
import { SqliteQueue } from '../../src/queue/sqlite-queue.ts';
import type { SqliteQueueOptions } from '../../src/queue/sqlite-queue.ts';
import { freshFolder } from '../../src/testing/fresh-folder.ts';

/** Closed when the test is over. */
export function openQueue(
  path: string = freshFolder(),
  options: SqliteQueueOptions = {},
): SqliteQueue {
  createQueueFolder(path);
  const queue = new SqliteQueue(queueFolder(path), { wakes: false, ...options });
  onTestFinished(() => queue.close());
  return queue;
}

export function message(content: string, source: string = 'self'): NewEvent {
  return { source, type: 'message', content };
}

export function contents(events: readonly QueueEvent[]): string[] {
  return events.map(({ content }) => content);
}

/** What events.jsonl has. */
export function mirrored(queue: SqliteQueue): QueueEvent[] {
  return readFileSync(queue.folder.mirror, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as QueueEvent);
}
