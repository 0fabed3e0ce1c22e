import { onTestFinished } from 'vitest';
import type { NewEvent, Queue, QueueEvent } from '../../queue/events/queue.ts';
import type { OpenedQueues, QueueTarget } from './queue-target.ts';

/** Opens queues that are closed when the test is over. */
export async function openQueues(target: QueueTarget): Promise<OpenedQueues> {
  const opened = await target.open();
  onTestFinished(() => opened.close());
  return opened;
}

/** Opens one new queue. */
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
