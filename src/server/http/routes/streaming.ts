import { z } from 'zod';
import type { TurnId } from '../../../base/brand.ts';
import { invalid, notFound } from '../../../base/errors.ts';
import { assertPayloadFits } from '../../../context/payloads/codecs.ts';
import { PAYLOAD_BYTES_MAX } from '../../../context/limits.ts';
import { headCondition } from '../exchange/conditions.ts';
import { eventReply, resumeAt } from '../exchange/event-stream.ts';
import type { SentEvent } from '../exchange/event-stream.ts';
import { readBody } from '../exchange/read-body.ts';
import { jsonReply } from '../exchange/route.ts';
import type { HttpRequest, Route } from '../exchange/route.ts';
import {
  EXAMPLE_TURN,
  count,
  ofContext,
  ofTurn,
  turnIdOrNoneInBody,
  turnJson,
} from '../exchange/schemas.ts';
import { appended } from './turns.ts';

const OPEN_EXAMPLE = { ...EXAMPLE_TURN, state: 'open', flags: 1, size: 0, payload: '' };

/** Turns that are written piece by piece. */
export const streamingRoutes: readonly Route[] = [
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
    answer: { status: 201, what: 'The sealed turn', json: turnJson, example: EXAMPLE_TURN },
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
