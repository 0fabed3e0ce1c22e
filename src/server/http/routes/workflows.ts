import { z } from 'zod';
import { notFound } from '../../../base/errors.ts';
import { given } from '../../../base/given.ts';
import type {
  EndThread,
  ListThreads,
  NewStep,
  StartThread,
} from '../../../workflow/threads/workflows.ts';
import { ANSWER_BYTES } from '../../calls/check-args.ts';
import { eventReply, named, reopened, resumeAt } from '../exchange/event-stream.ts';
import type { SentEvent } from '../exchange/event-stream.ts';
import { EXAMPLES, jsonReply, route, routesAt } from '../exchange/route.ts';
import type { Route } from '../exchange/route.ts';
import { count, flag, pageOf } from '../exchange/schemas.ts';

// Threads of workflows. Ids of threads are ULIDs, steps are named by their hashes. Nothing here runs a bundle: a server that ran what it is sent would be anyone's shell. A
// program that calls `run` or `resume` in the library runs the bundle itself, also over a connection to this server.

const BUNDLE = '2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213';
const START = '7b8620c1a1f0b8e1b9d7e33d5e3f0f1c7e1c4a3d7a2b5c9d8e6f4a1b2c3d4e5f';
const HEAD = 'af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262';
const CONTENT = 'Planned in two steps.';

const threadId = z
  .string()
  .regex(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/, 'is a ULID of 26 characters')
  .describe('The id of a thread');

const hashText = z.string().regex(/^[0-9a-f]{64}$/, 'is a hash of 64 hex digits');

const fields = z.record(z.string(), z.unknown());

const threadJson = z
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
  .describe('A chain of steps: `head` is the newest, or the start while there is none')
  .register(EXAMPLES, {
    id: '01JCQ0M8000000000000000000',
    bundle: BUNDLE,
    state: 'active',
    head: HEAD,
    start: START,
    updatedAt: 1_790_000_000_500,
  });

const stepJson = z
  .strictObject({
    hash: hashText,
    parent: hashText.nullable(),
    role: z.string(),
    meta: fields,
    timestamp: z.number(),
    content: z.string().optional(),
    refs: z.array(hashText).optional(),
    compact: hashText.optional(),
    childThread: threadId.optional(),
  })
  .register(EXAMPLES, {
    hash: HEAD,
    parent: null,
    role: 'planner',
    meta: { steps: 2 },
    timestamp: 1_790_000_000_500,
    content: CONTENT,
    refs: [],
  });

const contextJson = z.strictObject({
  thread: threadJson,
  start: z
    .strictObject({
      name: z.string(),
      bundle: hashText,
      prompt: z.string(),
      maxRounds: z.int(),
      depth: z.int(),
      parentState: hashText.optional(),
    })
    .register(EXAMPLES, {
      name: 'solve-issue',
      bundle: BUNDLE,
      prompt: 'Fix the parser.',
      maxRounds: 10,
      depth: 0,
    }),
  summary: z.string().optional(),
  steps: z.array(stepJson),
});

const bundleJson = z
  .strictObject({
    name: z.string(),
    description: z.string().optional(),
    hash: hashText,
    versions: z.array(z.strictObject({ hash: hashText, since: z.number() })),
  })
  .register(EXAMPLES, {
    name: 'solve-issue',
    hash: BUNDLE,
    versions: [{ hash: BUNDLE, since: 1_790_000_000_000 }],
  });

const newThread: z.ZodType<object> = z.strictObject({
  name: z.string(),
  prompt: z.string(),
  bundle: hashText.optional(),
  maxRounds: z.int().optional(),
});

const newStep: z.ZodType<object> = z.strictObject({
  role: z.string(),
  content: z.string(),
  meta: fields.optional(),
  refs: z.array(hashText).optional(),
  compact: z.string().optional(),
  childThread: threadId.optional(),
  expectedHead: hashText.optional(),
});

const threadEnd: z.ZodType<object> = z.strictObject({
  returnCode: z.int().optional(),
  summary: z.string().optional(),
  meta: fields.optional(),
  refs: z.array(hashText).optional(),
  expectedHead: hashText.optional(),
});

/** A context is one answer. A model takes less. */
const CONTEXT_BYTES = 2 * ANSWER_BYTES;
const THREADS = '/v1/workflows/threads';
const ofThread = routesAt(`${THREADS}/:id`, { id: threadId });

export const workflowRoutes: readonly Route[] = [
  route.get('/v1/workflows/bundles', {
    name: 'listBundles',
    summary: 'The workflows that are registered',
    answer: {
      what: 'By name, each with every bundle that the name stood for',
      json: z.strictObject({ items: z.array(bundleJson) }),
    },
    give: async ({ store }) => ({ items: await store.workflows.bundles.list() }),
  }),

  route.get('/v1/workflows/threads', {
    name: 'listThreads',
    summary: 'Running threads, the last changed first, then finished ones, newest first',
    query: z.strictObject({
      state: z.enum(['active', 'completed', 'all']).optional().describe('Default active'),
      bundle: hashText.optional(),
      since: count
        .optional()
        .describe('Ended, or last changed, at this time, in milliseconds, or later'),
      until: count.optional().describe('Ended, or last changed, before this time'),
      limit: count.optional().describe('Default 50, at most 10,000'),
      cursor: z.string().optional().describe('From the page before'),
      details: flag.optional().describe('With name, prompt, outcome and return code'),
    }),
    answer: { what: 'A page; `cursor` is there when more follow', json: pageOf(threadJson) },
    give: ({ query, store }) => store.workflows.list(query as ListThreads),
  }),

  ofThread.get('', {
    name: 'getThread',
    summary: 'One thread',
    query: z.strictObject({
      details: flag.optional().describe('With name, prompt, outcome and return code'),
    }),
    answer: { what: 'The thread', json: threadJson },
    async give({ params: { id }, query, store }) {
      const found = await store.workflows.get(id, query);
      if (found !== undefined) return found;
      throw notFound('thread', id, `there is no workflow thread ${id}`);
    },
  }),

  ofThread.get('/steps', {
    name: 'listSteps',
    summary: 'The last steps of a thread, oldest first',
    query: z.strictObject({
      limit: count.optional().describe('Default 50, at most 1,000'),
      before: hashText.optional().describe('The steps before this one: `cursor` of the page after'),
      content: flag.optional().describe('Default true'),
    }),
    answer: {
      what: 'A page of about 8 MiB at most; `cursor` is there when there are earlier steps',
      json: z.strictObject({ steps: z.array(stepJson), cursor: hashText.optional() }),
    },
    give: ({ params: { id }, query, store }) =>
      store.workflows.steps(id, { ...query, maxBytes: ANSWER_BYTES }),
  }),

  ofThread.get('/info', {
    name: 'listThreadInfo',
    summary: 'The debug lines of a thread, oldest first',
    query: z.strictObject({
      from: count.optional().describe('The first line; default 0'),
      limit: count.optional().describe('Default and at most 1,000'),
    }),
    answer: {
      what: 'Lines, about 8 MiB at most; the next page begins at `from` plus their number, until there are none',
      json: z.strictObject({ lines: z.array(z.looseObject({})) }),
      example: { lines: [{ at: 1_790_000_000_500, level: 'info', message: 'planner begins' }] },
    },
    give: async ({ params: { id }, query, store }) => ({
      lines: await store.workflows.info(id, { ...query, maxBytes: ANSWER_BYTES }),
    }),
  }),

  ofThread.get('/context', {
    name: 'getThreadContext',
    summary: 'What a model is shown: the prompt, then the steps since the last summary',
    answer: { what: 'The context; TOO_LARGE if it has more than 16 MiB', json: contextJson },
    give: ({ params: { id }, store }) => store.workflows.context(id, { maxBytes: CONTEXT_BYTES }),
  }),

  route.post('/v1/workflows/threads', {
    name: 'startThread',
    summary: 'Start a thread whose steps the caller records',
    body: { json: newThread, example: { name: 'solve-issue', prompt: 'Fix the parser.' } },
    answer: { status: 201, what: 'The new thread', json: threadJson },
    async run({ body, store }) {
      const started = await store.workflows.start(body as StartThread);
      return jsonReply(started, { headers: { Location: `${THREADS}/${started.id}` } });
    },
  }),

  ofThread.post('/steps', {
    name: 'appendStep',
    summary: 'Record a step',
    body: { json: newStep, example: { role: 'planner', content: 'Planned in two steps.' } },
    answer: { status: 201, what: 'The step', json: stepJson },
    give: ({ params: { id }, body, store }) => store.workflows.step(id, body as NewStep),
  }),

  ofThread.post('/end', {
    name: 'endThread',
    summary: 'End a thread: from the index to the history',
    body: { json: threadEnd, optional: true, example: { returnCode: 0, summary: 'done' } },
    answer: { status: 201, what: 'Its last node', json: stepJson },
    give: ({ params: { id }, body, store }) => store.workflows.end(id, body as EndThread),
  }),

  ofThread.delete('', {
    name: 'removeThread',
    summary: 'Remove a thread; the next collection frees what only it used',
    answer: { status: 204, what: 'It is gone' },
    give: ({ params: { id }, store }) => store.workflows.remove(id),
  }),

  // Routes that change the course of a thread, and routes that report on it.

  ofThread.post('/fork', {
    name: 'forkThread',
    summary: 'Fork a thread at a step; nothing is copied',
    body: {
      json: z.strictObject({ at: z.union([z.string(), z.int()]).optional() }),
      optional: true,
      example: { at: 'coder' },
    },
    answer: { status: 201, what: 'The new thread', json: threadJson },
    async run({ params: { id }, body, store }) {
      const fork = await store.workflows.fork(id, body);
      return jsonReply(fork, { headers: { Location: `${THREADS}/${fork.id}` } });
    },
  }),

  ofThread.post('/compact', {
    name: 'compactThread',
    summary: 'Replace the steps so far by a summary for later roles',
    body: { json: z.strictObject({ summary: z.string() }), example: { summary: 'half done' } },
    answer: { status: 201, what: 'The step that has it', json: stepJson },
    give: ({ params: { id }, body, store }) => store.workflows.compact(id, body.summary),
  }),

  ofThread.post('/pause', {
    name: 'pauseThread',
    summary: 'Pause a thread after its present step',
    answer: { what: 'The thread', json: threadJson },
    give: ({ params: { id }, store }) => store.workflows.pause(id),
  }),

  ofThread.post('/kill', {
    name: 'killThread',
    summary: 'End a thread at once, with return code 130',
    body: {
      json: z.strictObject({ reason: z.string().optional() }),
      optional: true,
      example: { reason: 'wrong branch' },
    },
    answer: { what: 'Its last node', json: stepJson },
    give: ({ params: { id }, body, store }) => store.workflows.kill(id, body.reason),
  }),

  ofThread.get('/events', {
    name: 'followThread',
    summary: 'The steps of a thread, those there and those to come, as server-sent events',
    headers: { 'Last-Event-ID': 'Go on after that step, also across a restart of the server' },
    query: z.strictObject({ after: hashText.optional().describe('As Last-Event-ID') }),
    answer: {
      what: 'Events `step`, each with its hash as id; `end` when the thread has ended or is removed',
      type: 'text/event-stream',
    },
    async run({ params: { id }, query, request, store: { workflows } }) {
      const after = resumeAt(request, query.after);
      const { signal } = request;
      // A missing thread is an error of the request, so it is found before the stream begins.
      await workflows.steps(id, { limit: 1, content: false });
      const open = (from = after): AsyncIterable<SentEvent> =>
        named(
          'step',
          workflows.live(id, { signal, ...given({ after: from }) }),
          ({ hash }) => hash,
        );
      return eventReply(reopened(open, request), request);
    },
  }),

  routesAt('/v1/workflows/bundles/:hash', { hash: hashText }).get('/events', {
    name: 'watchThreads',
    summary: 'threads.json of a bundle, now and after every change, as server-sent events',
    answer: {
      what: 'Events `threads` with the document and its version; a reader far behind gets the newest',
      type: 'text/event-stream',
    },
    run({ params: { hash }, request, store }) {
      const changes = store.workflows.watchIndex(hash, { signal: request.signal });
      return eventReply(
        named('threads', changes, ({ version }) => version),
        request,
      );
    },
  }),
];
