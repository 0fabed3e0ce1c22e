import { z } from 'zod';
import { EXAMPLES, routesAt } from '../exchange/route.ts';
import type { RoutesAt } from '../exchange/route.ts';

const time = z.string().describe('ISO 8601, UTC');

const chatId: z.ZodString = z.string().describe('The id of a chat');

export const ofChat: RoutesAt<'/v1/chats/:id', { id: typeof chatId }> = routesAt('/v1/chats/:id', {
  id: chatId,
});

const infoShape = {
  id: z.string(),
  title: z.string(),
  createdAt: time,
  updatedAt: time,
  pinned: z.boolean(),
  archivedAt: time.optional(),
  events: z.int().min(0),
  bytes: z.int().min(0),
};

const AT = '2026-11-15T12:00:00.000Z';
const EXAMPLE = {
  id: '01kaa2w5cw3q7a5h8w6j9n0c1d',
  title: 'fix the parser',
  createdAt: AT,
  updatedAt: AT,
  pinned: false,
  events: 2,
  bytes: 512,
};

export const chatJson: z.ZodType = z.strictObject(infoShape).register(EXAMPLES, EXAMPLE);

export const statusJson: z.ZodType = z
  .strictObject({
    ...infoShape,
    messages: z.int().min(0),
    usage: z.looseObject({}),
    clarification: z.looseObject({}),
    branches: z.array(z.looseObject({})),
    problems: z.int().min(0),
  })
  .register(EXAMPLES, {
    ...EXAMPLE,
    messages: 2,
    usage: { events: 2, inputTokens: 0, outputTokens: 0 },
    clarification: { answered: 0, dismissed: 0 },
    branches: [],
    problems: 0,
  });

export const messageJson: z.ZodType = z
  .strictObject({
    id: z.string(),
    seq: z.int().min(1),
    at: z.string(),
    role: z.string(),
    branch: z.string(),
    content: z.string(),
    state: z.enum(['complete', 'streaming']),
    interrupted: z.literal(true).optional(),
    edits: z.int().min(0),
    redacted: z.strictObject({ reason: z.string(), erased: z.boolean() }).optional(),
    attachments: z.array(z.looseObject({ id: z.string(), hash: z.string() })),
    missing: z.literal(true).optional(),
    damaged: z.string().optional(),
  })
  .register(EXAMPLES, {
    id: '01kaa2w5cw3q7a5h8w6j9n0c1e',
    seq: 1,
    at: AT,
    role: 'user',
    branch: 'main',
    content: 'hi',
    state: 'complete',
    edits: 0,
    attachments: [],
  });

export const eventJson: z.ZodType = z
  .strictObject({
    schema_version: z.int().min(1),
    seq: z.int().min(1),
    event_id: z.string(),
    at: time,
    type: z.string(),
    payload: z.looseObject({}),
  })
  .describe('An event as it stands in the log')
  .register(EXAMPLES, {
    schema_version: 1,
    seq: 3,
    event_id: '01KAA2W5CW3Q7A5H8W6J9N0C1F',
    at: AT,
    type: 'message_edited',
    payload: { message_id: '01kaa2w5cw3q7a5h8w6j9n0c1e', content: 'hello' },
  });

export const problemJson: z.ZodType = z
  .strictObject({
    seq: z.int().min(0),
    kind: z.string(),
    message: z.string(),
    type: z.string().optional(),
  })
  .register(EXAMPLES, { seq: 7, kind: 'newer-version', message: 'version 2 is newer' });

export const questionBody: z.ZodType = z.looseObject({
  id: z.string(),
  text: z.string(),
  kind: z.enum(['single', 'multiple', 'yes_no', 'text']),
  options: z.array(z.string()).optional(),
});

export const batchJson: z.ZodType = z
  .strictObject({
    batch_id: z.string(),
    seq: z.int().min(1),
    at: z.string(),
    title: z.string().optional(),
    questions: z.array(z.looseObject({ id: z.string(), text: z.string(), kind: z.string() })),
    state: z.enum(['open', 'answered', 'dismissed', 'replaced']),
    closedAt: z.string().optional(),
    reason: z.string().optional(),
    redacted: z.literal(true).optional(),
  })
  .register(EXAMPLES, {
    batch_id: '01kaa2w5cw3q7a5h8w6j9n0c1g',
    seq: 3,
    at: AT,
    questions: [{ id: 'q1', text: 'Sure?', kind: 'yes_no', answer: 'yes' }],
    state: 'answered',
    closedAt: AT,
  });

export const typeJson: z.ZodType = z
  .strictObject({
    type: z.string(),
    about: z.string(),
    since: time,
  })
  .register(EXAMPLES, { type: 'app.note', about: 'a note of the app', since: AT });
