import { z } from 'zod';
import { ANSWER_BYTES } from '../../calls/check-args.ts';
import type { Queue } from '../../../queue/events/queue.ts';
import type { Store } from '../../../store/store.ts';

export const queueParams: z.ZodObject<{ name: z.ZodString }> = z.strictObject({ name: z.string() });

/** Ids of events are numbers: a queue that got one every microsecond would take 285 years to run out of them. */
export const eventJson: z.ZodType = z
  .strictObject({
    id: z.int().min(1),
    created_at: z.string(),
    source: z.string(),
    type: z.string(),
    subtype: z.string().nullable(),
    content: z.string(),
  })
  .describe('An event of a queue');

export const newEvent: z.ZodObject<{
  source: z.ZodString;
  type: z.ZodEnum<{ message: 'message'; record: 'record' }>;
  subtype: z.ZodOptional<z.ZodNullable<z.ZodString>>;
  content: z.ZodString;
}> = z.strictObject({
  source: z.string(),
  type: z.enum(['message', 'record']),
  subtype: z.string().nullable().optional(),
  content: z.string(),
});

export const EXAMPLE_EVENT: object = {
  id: 42,
  created_at: '2026-03-18T10:30:00.123Z',
  source: 'internal:dm:default:warden',
  type: 'message',
  subtype: null,
  content: 'hello',
};

/** The bytes of events that one answer holds; the next answer begins after its last event. */
export const PAGE_BYTES: number = ANSWER_BYTES;

/** Opens a queue that exists. */
export function openQueue({ queues }: Store, name: string): Promise<Queue> {
  return queues.open(name, { create: false });
}
