import { z } from 'zod';
import type { NewEntry } from '../../../session/entries/session-entry.ts';
import { ANSWER_BYTES } from '../../calls/check-args.ts';
import { EXAMPLES, jsonReply, route, routesAt } from '../exchange/route.ts';
import type { Route } from '../exchange/route.ts';
import { count, flag, pageOf } from '../exchange/schemas.ts';

// Sessions are named by id alone: a path would let any reader of the store read the server's files.

const ENTRIES_MAX = 1000;
const ENTRIES_DEFAULT = 50;

const sessionId = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,128}$/, 'must be the id of a session')
  .describe('The id of a session');
const ofSession = routesAt('/v1/sessions/:id', { id: sessionId });
const entry = z.looseObject({ type: z.string() });
const ID = '019a8b1c-77aa-7def-8123-456789abcdef';
const summary = z
  .looseObject({ id: z.string(), file: z.string(), available: z.boolean() })
  .register(EXAMPLES, {
    id: ID,
    file: `/store/sessions/--work--/x_${ID}.jsonl`,
    available: true,
  });

export const sessionRoutes: readonly Route[] = [
  route.get('/v1/sessions', {
    name: 'listSessions',
    summary: 'Sessions that the store knows, the oldest first',
    query: z.strictObject({ limit: count.optional(), cursor: z.string().optional() }),
    answer: { what: 'A page of them', json: pageOf(summary) },
    give: ({ query, store }) => store.sessions.list(query),
  }),
  route.post('/v1/sessions', {
    name: 'createSession',
    summary: 'Begin a session, in the folder of the store',
    body: {
      json: z.strictObject({
        cwd: z.string().optional(),
        header: z.record(z.string(), z.unknown()).optional(),
      }),
      optional: true,
      example: { cwd: '/project' },
    },
    answer: { status: 201, what: 'It is there', json: summary },
    async run({ body, store: { sessions } }) {
      await using session = await sessions.create(body);
      const headers = { Location: `/v1/sessions/${session.id}` };
      return jsonReply(await sessions.details(session.id), { headers });
    },
  }),
  ofSession.get('', {
    name: 'getSession',
    summary: 'One session: where it is and what it has',
    answer: { what: 'The session', json: summary },
    give: ({ params: { id }, store }) => store.sessions.details(id),
  }),
  ofSession.delete('', {
    name: 'removeSession',
    summary: 'Remove a session and its artifacts; a collection then frees its blobs',
    answer: { status: 204, what: 'It is gone' },
    give: ({ params: { id }, store }) => store.sessions.remove(id),
  }),
  ofSession.get('/entries', {
    name: 'readEntries',
    summary: 'The last entries of a session, or those before a cursor',
    query: z.strictObject({
      last: count.optional().describe(`Default ${ENTRIES_DEFAULT}, at most ${ENTRIES_MAX}`),
      before: count.optional().describe('The cursor of the page before'),
      hydrate: flag.optional().describe('Default true. False leaves references to blobs'),
    }),
    answer: {
      what: 'Entries, oldest first',
      json: z.looseObject({ entries: z.array(entry), cursor: z.number().optional() }),
      example: { entries: [], unresolved: [], warnings: [], malformedLines: 0 },
    },
    async give({ params: { id }, query: { last, ...options }, store }) {
      const wanted = Math.min(last ?? ENTRIES_DEFAULT, ENTRIES_MAX);
      await using session = await store.sessions.open(id);
      return await session.last(wanted, { ...options, maxBytes: ANSWER_BYTES });
    },
  }),
  ofSession.post('/entries', {
    name: 'appendEntries',
    summary: 'Append one entry or several',
    body: {
      json: z.union([z.strictObject({ entries: z.array(entry).max(ENTRIES_MAX) }), entry]),
      example: { type: 'message', message: { role: 'user', content: 'hi' } },
    },
    answer: {
      status: 201,
      what: 'Their ids; durable when it comes',
      json: z.strictObject({ ids: z.array(z.string()) }),
      example: { ids: ['9f2c41d0a7b3e655'] },
    },
    async give({ params: { id }, body, store }) {
      const { entries } = body as { entries?: unknown };
      const all = (Array.isArray(entries) ? entries : [body]) as NewEntry[];
      await using session = await store.sessions.open(id);
      const appended = await Promise.all(all.map((one) => session.append(one)));
      return { ids: appended.map((one) => one.id) };
    },
  }),
  ofSession.post('/fork', {
    name: 'forkSession',
    summary: 'Fork a session',
    body: {
      json: z.strictObject({ at: z.string().optional(), artifacts: z.boolean().optional() }),
      optional: true,
      example: { at: '9f2c41d0a7b3e655' },
    },
    answer: {
      status: 201,
      what: 'The new session',
      json: z.looseObject({ id: z.string(), artifactsCopied: z.boolean() }),
      example: { id: ID, oldFile: '/a.jsonl', newFile: '/b.jsonl', artifactsCopied: true },
    },
    async run({ params: { id }, body, store }) {
      const report = await store.sessions.fork(id, body);
      const headers = { Location: `/v1/sessions/${report.id}` };
      return jsonReply(report, { headers });
    },
  }),
  ofSession.get('/resource', {
    name: 'readResource',
    summary: 'The text at artifact://<id> or agent://<id> of a session, whole or in lines',
    query: z.strictObject({
      url: z.string().describe('artifact://<id>, agent://<id>, agent://<id>/path or ?q='),
      offset: count.optional().describe('The first line, counted from 1'),
      limit: count.optional().describe('How many lines'),
    }),
    answer: {
      what: 'The text and what it is',
      json: z.looseObject({ url: z.string(), contentType: z.string(), content: z.string() }),
      example: {
        url: 'artifact://0',
        contentType: 'text/plain',
        content: 'ok\n',
        size: 3,
        notes: [],
      },
    },
    give: ({ params: { id }, query: { url, ...range }, store }) =>
      store.sessions.resolve(url, { session: id, ...range }),
  }),
  ofSession.post('/artifacts', {
    name: 'saveArtifact',
    summary: 'Store an artifact of a session',
    body: {
      json: z.strictObject({ text: z.string(), toolType: z.string().optional() }),
      example: { text: 'all of the output', toolType: 'bash' },
    },
    answer: {
      status: 201,
      what: 'Its id; durable when it comes',
      json: z.strictObject({ id: z.string(), url: z.string() }),
      example: { id: '0', url: 'artifact://0' },
    },
    async give({ params: { id: owner }, body: { text, toolType = 'tool' }, store }) {
      await using session = await store.sessions.open(owner);
      const { id } = await session.saveArtifact(text, toolType);
      return { id, url: `artifact://${id}` };
    },
  }),
];
