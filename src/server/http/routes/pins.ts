import { z } from 'zod';
import type { PinOptions } from '../../../context/contexts.ts';
import { given } from '../exchange/conditions.ts';
import { defineRoute, jsonReply } from '../exchange/route.ts';
import type { Route } from '../exchange/route.ts';
import { turnId } from '../exchange/schemas.ts';

const params = z.strictObject({ id: turnId });

export const pinRoutes: readonly Route[] = [
  defineRoute({
    method: 'get',
    path: '/v1/pins',
    name: 'listPins',
    summary: 'Pinned turns, by id',
    needs: 'read',
    answer: {
      what: 'The pins',
      json: z.strictObject({
        pins: z.array(z.strictObject({ turn: z.string(), reason: z.string().optional() })),
      }),
      example: { pins: [{ turn: '2', reason: 'cited in a report' }] },
    },
    async run({ request }) {
      return jsonReply({ pins: await request.service.served.store.contexts.pins() });
    },
  }),
  defineRoute({
    method: 'put',
    path: '/v1/turns/:id/pin',
    name: 'pinTurn',
    summary: 'Keep a turn, and all before it, from being collected',
    needs: 'write',
    params,
    body: {
      json: z.strictObject({ reason: z.string().optional() }),
      optional: true,
      example: { reason: 'cited in a report' },
    },
    answer: { status: 204, what: 'It is pinned' },
    async run({ params: { id }, body, request }) {
      await request.service.served.store.contexts.pin(id, given(body) as PinOptions);
      return {};
    },
  }),
  defineRoute({
    method: 'delete',
    path: '/v1/turns/:id/pin',
    name: 'unpinTurn',
    summary: 'Remove the pin of a turn',
    needs: 'write',
    params,
    answer: { status: 204, what: 'It is pinned no more' },
    async run({ params: { id }, request }) {
      await request.service.served.store.contexts.unpin(id);
      return {};
    },
  }),
];
