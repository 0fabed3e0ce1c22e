import { onTestFinished } from 'vitest';
import type { NewEvent, Queue, QueueEvent } from '../../queue/queue.ts';
import type { OpenedQueues, QueueTarget } from './queue-target.ts';

/** Closed when the test is over. */
export async function openQueues(target: QueueTarget): Promise<OpenedQueues> {
  const opened = await target.open();
  onTestFinished(() => opened.close());
  return opened;
}

/** One queue that is new. */
export async function openQueue(target: QueueTarget): Promise<Queue> {
  const { queues } = await openQueues(target);
  return queues.open('inbox');
}

export function message(content: string, source: string = 'self'): NewEvent {
  return { source, type: 'message', content };
}

export function contents(events: readonly QueueEvent[]): string[] {
  return events.map(({ content }) => content);
}
