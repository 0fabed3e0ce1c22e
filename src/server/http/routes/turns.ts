import { z } from 'zod';
import { toTurnId } from '../../../base/brand.ts';
import type { ContextId, TurnId } from '../../../base/brand.ts';
import { invalid, notFound } from '../../../base/errors.ts';
import type {
  AppendOptions,
  BatchTurn,
  Contexts,
  NewTurn,
  ReadOptions,
  TurnPage,
} from '../../../context/contexts.ts';
import { PAYLOAD_BYTES_MAX } from '../../../context/limits.ts';
import { assertPayloadFits } from '../../../context/payloads/codecs.ts';
import type { Turn } from '../../../context/turn.ts';
import { given } from '../../../base/given.ts';
import {
  appendConditions,
  headCondition,
  readOptions,
  HASH,
  count,
  encoding,
  idOrZeroText,
  idText,
  ofContext,
  ofTurn,
  readQuery,
  toPayload,
  turnId,
  turnIdOrNoneInBody,
} from '../exchange/schemas.ts';
import { eventReply, resumeAt } from '../exchange/event-stream.ts';
import type { SentEvent } from '../exchange/event-stream.ts';
import { readBody } from '../exchange/read-body.ts';
import { EXAMPLES, jsonReply, routesAt } from '../exchange/route.ts';
import type { HttpRequest, Reply, Route } from '../exchange/route.ts';
import type { Checked } from '../../calls/check-args.ts';
import { chainReply, pageReply, smallPayloads, turnReply } from '../exchange/turn-answer.ts';
import type { PageSource } from '../exchange/turn-answer.ts';

const LIMIT_DEFAULT = 50;

const turnIdOrNone = idOrZeroText
  .transform((id) => toTurnId(id, true))
  .describe('The id of a turn, or "0" for none');

/** A turn as JSON can carry it: bytes in `base64`, everything else in `payload`. */
const newTurnFields = {
  type: z.string(),
  version: z.int().min(0).optional(),
  encoding: encoding.optional(),
  payload: z.unknown().optional(),
  base64: z.base64().optional().describe('The bytes of the payload, in place of "payload"'),
};

const newTurn = z.strictObject(newTurnFields);

const batchTurn = z.strictObject({
  ...newTurnFields,
  idempotencyKey: z
    .string()
    .optional()
    .describe('The key of this turn alone; all turns of a batch have one, or none'),
});

const EXAMPLE_TURN = {
  id: '2',
  context: '1',
  parent: '1',
  depth: 1,
  type: 'chat.message',
  version: 1,
  encoding: 'json',
  payloadHash: HASH,
  size: 27,
  createdAt: 1_790_000_000_500,
  flags: 0,
  state: 'sealed',
  payload: { role: 'user', text: 'hi' },
};

const OPEN_EXAMPLE = { ...EXAMPLE_TURN, state: 'open', flags: 1, size: 0, payload: '' };

export const turnJson: z.ZodType = z
  .strictObject({
    id: idText,
    context: idText,
    parent: idOrZeroText,
    depth: z.int().min(0),
    type: z.string(),
    version: z.int().min(0),
    encoding: z.union([encoding, z.int()]),
    payloadHash: z.string().optional(),
    size: z.int().min(0),
    createdAt: z.number(),
    flags: z.int().min(0),
    state: z.enum(['sealed', 'open']),
    outcome: z.enum(['aborted', 'interrupted']).optional(),
    patched: z.literal(true).optional(),
    tombstone: z.literal(true).optional(),
    reason: z.string().optional(),
    payload: z.unknown().optional(),
    undecodable: z.literal(true).optional(),
  })
  .describe('A turn; bytes in its payload appear as {"base64": "…"}')
  .register(EXAMPLES, EXAMPLE_TURN);

const pageQuery = z.strictObject({
  ...readQuery,
  limit: count.optional().describe('Turns at most; default 50, at most 10,000'),
  before: turnId.optional().describe('The turns before this one; the cursor of a page goes here'),
  from: count.optional().describe('With `to`: turns from this depth'),
  to: count.optional().describe('Up to this depth, not including it'),
  maxBytes: count.optional().describe('Payload bytes that a page holds at most'),
});

const appendQuery = z.strictObject({
  parent: turnIdOrNone.optional().describe('Default: the head; 0: a new root'),
  type: z.string().optional().describe('Of the turn, when the body is its payload'),
  version: count.optional(),
  encoding: encoding.optional().describe('Of such a body; default `bytes`'),
});

export const turnRoutes: readonly Route[] = [
  ofContext.get('/turns', {
    name: 'listTurns',
    summary: 'The newest turns of a context, those before one, or a range by depth; older first',
    query: pageQuery,
    answer: {
      what: 'A page; `cursor` goes into `before`, `nextDepth` into `from`',
      json: z.strictObject({
        turns: z.array(turnJson),
        cursor: z.string().optional(),
        nextDepth: z.int().optional(),
        headDepth: z.int(),
      }),
      example: { turns: [EXAMPLE_TURN], cursor: '2', headDepth: 1 },
    },
    run: ({ params: { id }, query, request, store }) =>
      pageReply(pageSource(store.contexts, id, query), readOptions(query), request),
  }),

  ofContext.post('/turns', {
    name: 'appendTurns',
    summary: 'Append one turn, several at once, or a body of any type as the payload of one',
    headers: {
      'Idempotency-Key': 'The same key with the same turns gives the first result again',
      'If-Match': 'The id of the head in quotes; another head is 412',
    },
    query: appendQuery,
    body: {
      json: z.union([newTurn, z.strictObject({ turns: z.array(batchTurn).min(1).max(10_000) })]),
      bytes: 'The payload of one turn, whose type is in the query',
      example: { type: 'chat.message', payload: { role: 'user', text: 'hi' } },
    },
    answer: {
      status: 201,
      what: 'The turn, or `turns` when several were sent. Durable when it comes',
      json: z.union([turnJson, z.strictObject({ turns: z.array(turnJson) })]),
      example: EXAMPLE_TURN,
    },
    async run({ params: { id }, query, body, request, store: { contexts } }) {
      const { parent } = query;
      const conditions = appendConditions(request);
      const options: AppendOptions = { ...conditions, ...(parent !== undefined && { parent }) };
      if (body !== undefined && 'turns' in body) {
        const turns = await contexts.appendBatch(id, body.turns.map(toNewTurn), options);
        return jsonReply({ turns: turns.map(withoutPayload) });
      }
      const turn = body === undefined ? await rawTurn(query, request) : toNewTurn(body);
      return appended(await contexts.append(id, turn, options));
    },
  }),

  ofTurn.get('', {
    name: 'getTurn',
    summary: 'One turn',
    query: z.strictObject(readQuery),
    answer: { what: 'The turn', json: turnJson },
    async run({ params: { id }, query, request, store }) {
      const asked = readOptions(query);
      const turn = await store.contexts.turn(id, smallPayloads(asked));
      if (turn !== undefined) return turnReply(turn, asked, request);
      throw notFound('turn', id);
    },
  }),

  ofTurn.get('/chain', {
    name: 'getChain',
    summary: 'The whole chain up to a turn, from its root, whatever contexts lead to it',
    query: z.strictObject(readQuery),
    answer: {
      what: 'A turn a line, as JSON; older first. The answer is made as it is read',
      type: 'application/x-ndjson',
    },
    run: ({ params: { id }, query, request }) => chainReply(id, readOptions(query), request),
  }),

  routesAt('/v1/turns/:id/diff/:other', { id: turnId, other: turnId }).get('', {
    name: 'diffTurns',
    summary: 'Where two turns part, and the turns after that on either side',
    answer: {
      what: '`base` is absent when they have nothing in common',
      json: z.strictObject({
        base: z.string().optional(),
        left: z.array(z.string()),
        right: z.array(z.string()),
      }),
      example: { base: '2', left: ['3'], right: ['4', '5'] },
    },
    give: ({ params: { id, other }, store }) => store.contexts.diff(id, other),
  }),

  // Turns that are written piece by piece.

  ofContext.post('/open', {
    name: 'openTurn',
    summary: 'Open a turn to stream into; it becomes the head when sealed',
    headers: { 'If-Match': 'The id of the head in quotes; another head is 412' },
    body: {
      json: z.strictObject({
        type: z.string(),
        version: z.int().min(0).optional(),
        encoding: z.enum(['text', 'bytes']).optional(),
        parent: turnIdOrNoneInBody.optional(),
      }),
      example: { type: 'chat.message' },
    },
    answer: { status: 201, what: 'The open turn', json: turnJson, example: OPEN_EXAMPLE },
    async run({ params: { id }, body: { parent, ...turn }, request, store: { contexts } }) {
      const placement = { ...headCondition(request), ...(parent !== undefined && { parent }) };
      const opened = await contexts.open(id, turn, placement);
      const headers = { Location: `/v1/turns/${opened.id}` };
      return jsonReply(await contexts.turn(opened.id), { headers });
    },
  }),

  ofTurn.post('/delta', {
    name: 'writeDelta',
    summary: 'Add bytes to an open turn; sent again with the same offset they are added once',
    query: z.strictObject({ offset: count.describe('Bytes that the turn has before these') }),
    body: { bytes: 'The bytes to add' },
    answer: {
      what: 'Bytes that would survive a power cut',
      json: z.strictObject({ size: z.int() }),
      example: { size: 120 },
    },
    async give({ params: { id }, query: { offset }, request, engine }) {
      const bytes = await readBody(request, PAYLOAD_BYTES_MAX);
      assertPayloadFits(offset + bytes.length, PAYLOAD_BYTES_MAX);
      await engine.commit({ deltas: [{ turn: id, offset, bytes }] });
      return { size: offset + bytes.length };
    },
  }),

  ofTurn.post('/seal', {
    name: 'sealTurn',
    summary: 'End an open turn: complete, or aborted when a reason is given',
    body: {
      json: z.strictObject({ abort: z.string().min(1).max(4096).optional() }),
      optional: true,
      example: { abort: 'the model stopped answering' },
    },
    answer: { status: 201, what: 'The sealed turn', json: turnJson },
    async run({ params: { id }, body: { abort }, store: { contexts } }) {
      if (abort === undefined) await (await contexts.resume(id)).seal();
      else await contexts.abort(id, abort);
      const turn = await contexts.turn(id, { payload: false });
      if (turn === undefined) throw notFound('turn', id);
      return appended(turn);
    },
  }),

  ofTurn.get('/events', {
    name: 'followOpenTurn',
    summary: 'The bytes of a turn as they come, as server-sent events, until it is sealed',
    headers: { 'Last-Event-ID': 'Go on after that many bytes' },
    query: z.strictObject({
      after: z
        .string()
        .regex(/^\d{1,15}$/)
        .optional(),
    }),
    answer: {
      what: 'Events `delta` with {"offset", "base64"}, then `end`',
      type: 'text/event-stream',
    },
    async run({ params: { id }, query, request, engine }) {
      const after = Number(resumeAt(request, query.after) ?? 0);
      if (!Number.isSafeInteger(after)) throw invalid('Last-Event-ID', 'must be a number of bytes');
      if ((await engine.getTurn(id)) === undefined) throw notFound('turn', id);
      return eventReply(deltas(request, id, after), request);
    },
  }),
];

type PageQuery = z.output<typeof pageQuery>;

function pageSource(contexts: Contexts, id: ContextId, query: PageQuery): PageSource {
  const { limit = LIMIT_DEFAULT, before, from, to } = query;
  if (from === undefined && to === undefined) {
    const read = (options: ReadOptions): Promise<TurnPage> =>
      before === undefined
        ? contexts.last(id, limit, options)
        : contexts.before(id, before, limit, options);
    return { read, wanted: limit, keeps: 'newest' };
  }
  if (from === undefined || to === undefined || before !== undefined) {
    throw invalid('from', 'and to go together, and not with before');
  }
  // A range is at most as long as a page; `nextDepth` says where the next one begins.
  const end = Math.min(to, from + limit);
  const read = async (options: ReadOptions): Promise<TurnPage> => {
    const page = await contexts.range(id, from, end, options);
    const isCut = page.nextDepth === undefined && end < to && end <= page.headDepth;
    return isCut ? { ...page, nextDepth: end } : page;
  };
  return { read, wanted: end - from, keeps: 'oldest' };
}

function toNewTurn({ payload, base64, ...turn }: Checked<z.output<typeof batchTurn>>): BatchTurn {
  return { ...turn, payload: toPayload({ payload, base64 }) };
}

async function rawTurn(
  { type, version, encoding: name = 'bytes' }: z.output<typeof appendQuery>,
  request: HttpRequest,
): Promise<NewTurn> {
  if (type === undefined) {
    throw invalid(
      'type',
      'of the turn is missing: send a turn in JSON with Content-Type: application/json, or a payload with ?type=',
    );
  }
  const payload = await readBody(request, PAYLOAD_BYTES_MAX);
  return { type, encoding: name, payload, ...given({ version }) };
}

function appended(turn: Turn): Reply {
  const headers = { Location: `/v1/turns/${turn.id}`, ETag: `"${turn.id}"` };
  return jsonReply(withoutPayload(turn), { headers });
}

/** The sender has the payload already. */
function withoutPayload(turn: Turn): object {
  const { payload: _, ...json } = turn.toJSON();
  return json;
}

async function* deltas(
  { service, signal }: HttpRequest,
  id: TurnId,
  after: number,
): AsyncGenerator<SentEvent, void, undefined> {
  let offset = after;
  for await (const piece of service.served.store.contexts.followOpen(id, { after, signal })) {
    const data = { offset, base64: Buffer.from(piece).toString('base64') };
    offset += piece.length;
    yield { id: String(offset), event: 'delta', data };
  }
}
