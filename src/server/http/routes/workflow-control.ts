import { z } from 'zod';
import type { IndexChange, Step } from '../../../workflow/threads/workflows.ts';
import { eventReply, reopened, resumeAt, type SentEvent } from '../exchange/event-stream.ts';
import { defineRoute, jsonReply, type Route } from '../exchange/route.ts';
import {
  EXAMPLE_STEP,
  EXAMPLE_THREAD,
  hashText,
  stepJson,
  threadId,
  threadJson,
} from './workflow-schemas.ts';

const params = z.strictObject({ id: threadId });
const THREAD = '/v1/workflows/threads/:id';
const thread = { json: threadJson, example: EXAMPLE_THREAD };
const step = { json: stepJson, example: EXAMPLE_STEP };

/** Routes that change the course of a thread, and routes that report on it. */
export const workflowControlRoutes: readonly Route[] = [
  defineRoute({
    method: 'post',
    path: `${THREAD}/fork`,
    name: 'forkThread',
    summary: 'Fork a thread at a step; nothing is copied',
    params,
    body: {
      json: z.strictObject({ at: z.union([z.string(), z.int()]).optional() }),
      optional: true,
      example: { at: 'coder' },
    },
    answer: { status: 201, what: 'The new thread', ...thread },
    async run({ params: { id }, body, store }) {
      const fork = await store.workflows.fork(id, body);
      return jsonReply(fork, { headers: { Location: `/v1/workflows/threads/${fork.id}` } });
    },
  }),

  defineRoute({
    method: 'post',
    path: `${THREAD}/compact`,
    name: 'compactThread',
    summary: 'Replace the steps so far by a summary for later roles',
    params,
    body: { json: z.strictObject({ summary: z.string() }), example: { summary: 'half done' } },
    answer: { status: 201, what: 'The step that has it', ...step },
    give: ({ params: { id }, body, store }) => store.workflows.compact(id, body.summary),
  }),

  defineRoute({
    method: 'post',
    path: `${THREAD}/pause`,
    name: 'pauseThread',
    summary: 'Pause a thread after its present step',
    params,
    answer: { what: 'The thread', ...thread },
    give: ({ params: { id }, store }) => store.workflows.pause(id),
  }),

  defineRoute({
    method: 'post',
    path: `${THREAD}/kill`,
    name: 'killThread',
    summary: 'End a thread at once, with return code 130',
    params,
    body: {
      json: z.strictObject({ reason: z.string().optional() }),
      optional: true,
      example: { reason: 'wrong branch' },
    },
    answer: { what: 'Its last node', ...step },
    give: ({ params: { id }, body, store }) => store.workflows.kill(id, body.reason),
  }),

  defineRoute({
    method: 'get',
    path: `${THREAD}/events`,
    name: 'followThread',
    summary: 'The steps of a thread, those there and those to come, as server-sent events',
    headers: { 'Last-Event-ID': 'Go on after that step, also across a restart of the server' },
    params,
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
        toStepEvents(workflows.live(id, { signal, ...(from !== undefined && { after: from }) }));
      return eventReply(reopened(open, request), request);
    },
  }),

  defineRoute({
    method: 'get',
    path: '/v1/workflows/bundles/:hash/events',
    name: 'watchThreads',
    summary: 'threads.json of a bundle, now and after every change, as server-sent events',
    params: z.strictObject({ hash: hashText }),
    answer: {
      what: 'Events `threads` with the document and its version; a reader far behind gets the newest',
      type: 'text/event-stream',
    },
    run({ params: { hash }, request, store }) {
      const changes = store.workflows.watchIndex(hash, { signal: request.signal });
      return eventReply(toIndexEvents(changes), request);
    },
  }),
];

async function* toStepEvents(
  steps: AsyncIterable<Step>,
): AsyncGenerator<SentEvent, void, undefined> {
  for await (const step of steps) yield { id: step.hash, event: 'step', data: step };
}

async function* toIndexEvents(
  changes: AsyncIterable<IndexChange>,
): AsyncGenerator<SentEvent, void, undefined> {
  for await (const change of changes) {
    yield { id: String(change.version), event: 'threads', data: change };
  }
}
