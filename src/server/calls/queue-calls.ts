import { z } from 'zod';
import type {
  NewEvent,
  NewSubscription,
  PeekOptions,
  PopOptions,
  Queue,
} from '../../queue/queue.ts';
import type { AnswerHandler } from './call-handler.ts';
import type { Served } from './served.ts';
import { answer } from './answer.ts';
import type { NamedHandler } from './answer.ts';
import { ANSWER_BYTES, count, text } from './check-args.ts';

const event = z.strictObject({
  source: text,
  type: text,
  subtype: text.nullish(),
  content: text,
}) as unknown as z.ZodType<NewEvent>;
const page = {
  lastEventId: count,
  limit: count.optional(),
  maxBytes: z.int().min(1).optional(),
};
const popOptions = z.strictObject({
  ...page,
  fence: count.optional(),
}) as unknown as z.ZodType<PopOptions>;
const peekOptions = z.strictObject({
  ...page,
  filter: text.optional(),
}) as unknown as z.ZodType<PeekOptions>;
const subscription = z.strictObject({
  consumer: text,
  handler: text,
  filter: text.nullish(),
}) as unknown as z.ZodType<NewSubscription>;

/**
 * The verbs of queues by the name of the queue. A client that subscribes a handler has it run here, as a command of
 * this machine. Such a client has a shell, so subscribing a handler takes a right of its own.
 */
export function queueCalls({ store }: Served): NamedHandler<AnswerHandler>[] {
  const { queues } = store;
  const open = (name: string): Promise<Queue> => queues.open(name, { create: false });
  return [
    answer('queues.list', { needs: 'read', args: z.tuple([]) }, () => queues.list()),
    answer('queues.create', { needs: 'write', args: z.tuple([text]) }, async ([name]) => {
      await queues.open(name);
    }),
    answer('queues.info', { needs: 'read', args: z.tuple([text]) }, async ([name]) =>
      (await open(name)).info(),
    ),
    answer('queues.push', { needs: 'write', args: z.tuple([text, event]) }, async ([name, one]) =>
      (await open(name)).push(one),
    ),
    answer(
      'queues.pushBatch',
      { needs: 'write', args: z.tuple([text, z.array(event)]) },
      async ([name, events]) => (await open(name)).pushBatch(events),
    ),
    answer(
      'queues.pop',
      { needs: 'write', args: z.tuple([text, text, popOptions]) },
      async ([name, consumer, options]) => (await open(name)).pop(consumer, bounded(options)),
    ),
    answer(
      'queues.peek',
      { needs: 'read', args: z.tuple([text, peekOptions]) },
      async ([name, options]) => (await open(name)).peek(bounded(options)),
    ),
    answer(
      'queues.subscribe',
      { needs: 'handlers', args: z.tuple([text, subscription]) },
      async ([name, given]) => (await open(name)).subscribe(given),
    ),
    answer(
      'queues.unsubscribe',
      { needs: 'admin', args: z.tuple([text, text]) },
      async ([name, consumer]) => (await open(name)).unsubscribe(consumer),
    ),
    answer('queues.dispatch', { needs: 'write', args: z.tuple([text]) }, async ([name]) =>
      (await open(name)).dispatch(),
    ),
  ];
}

/** Bounds the size of a page, because an answer is one message. */
function bounded<T extends PopOptions | PeekOptions>(options: T): T {
  return { ...options, maxBytes: Math.min(options.maxBytes ?? ANSWER_BYTES, ANSWER_BYTES) };
}
