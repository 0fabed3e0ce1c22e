import { z } from 'zod';

// Workflow threads as they travel. Ids of threads are ULIDs, steps are named by their hashes.

export const threadId: z.ZodString = z
  .string()
  .regex(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/, 'is a ULID of 26 characters')
  .describe('The id of a thread');

export const hashText: z.ZodString = z
  .string()
  .regex(/^[0-9a-f]{64}$/, 'is a hash of 64 hex digits');

const fields = z.record(z.string(), z.unknown());

export const threadJson: z.ZodType = z
  .strictObject({
    id: threadId,
    bundle: hashText,
    state: z.enum(['active', 'paused', 'completed']),
    head: hashText,
    start: hashText,
    updatedAt: z.number(),
    name: z.string().optional(),
    prompt: z.string().optional(),
    outcome: z.enum(['completed', 'failed', 'killed']).optional(),
    returnCode: z.int().optional(),
    summary: z.string().optional(),
  })
  .describe('A chain of steps: `head` is the newest, or the start while there is none');

export const stepJson: z.ZodType = z.strictObject({
  hash: hashText,
  parent: hashText.nullable(),
  role: z.string(),
  meta: fields,
  timestamp: z.number(),
  content: z.string().optional(),
  refs: z.array(hashText).optional(),
  compact: hashText.optional(),
  childThread: threadId.optional(),
});

export const contextJson: z.ZodType = z.strictObject({
  thread: threadJson,
  start: z.strictObject({
    name: z.string(),
    bundle: hashText,
    prompt: z.string(),
    maxRounds: z.int(),
    depth: z.int(),
    parentState: hashText.optional(),
  }),
  summary: z.string().optional(),
  steps: z.array(stepJson),
});

export const bundleJson: z.ZodType = z.strictObject({
  name: z.string(),
  description: z.string().optional(),
  hash: hashText,
  versions: z.array(z.strictObject({ hash: hashText, since: z.number() })),
});

export const newThread: z.ZodType<object> = z.strictObject({
  name: z.string(),
  prompt: z.string(),
  bundle: hashText.optional(),
  maxRounds: z.int().optional(),
});

export const newStep: z.ZodType<object> = z.strictObject({
  role: z.string(),
  content: z.string(),
  meta: fields.optional(),
  refs: z.array(hashText).optional(),
  compact: z.string().optional(),
  childThread: threadId.optional(),
  expectedHead: hashText.optional(),
});

export const threadEnd: z.ZodType<object> = z.strictObject({
  returnCode: z.int().optional(),
  summary: z.string().optional(),
  meta: fields.optional(),
  refs: z.array(hashText).optional(),
  expectedHead: hashText.optional(),
});

const BUNDLE = '2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213';
const START = '7b8620c1a1f0b8e1b9d7e33d5e3f0f1c7e1c4a3d7a2b5c9d8e6f4a1b2c3d4e5f';
const HEAD = 'af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262';
const CONTENT = 'Planned in two steps.';

export const EXAMPLE_THREAD: object = {
  id: '01JCQ0M8000000000000000000',
  bundle: BUNDLE,
  state: 'active',
  head: HEAD,
  start: START,
  updatedAt: 1_790_000_000_500,
};

export const EXAMPLE_STEP: object = {
  hash: HEAD,
  parent: null,
  role: 'planner',
  meta: { steps: 2 },
  timestamp: 1_790_000_000_500,
  content: CONTENT,
  refs: [],
};

export const EXAMPLE_WORKFLOW_CONTEXT: object = {
  thread: EXAMPLE_THREAD,
  start: {
    name: 'solve-issue',
    bundle: BUNDLE,
    prompt: 'Fix the parser.',
    maxRounds: 10,
    depth: 0,
  },
  steps: [EXAMPLE_STEP],
};

export const EXAMPLE_BUNDLE: object = {
  name: 'solve-issue',
  hash: BUNDLE,
  versions: [{ hash: BUNDLE, since: 1_790_000_000_000 }],
};
