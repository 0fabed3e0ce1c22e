import { z } from 'zod';
import { route } from '../exchange/route.ts';
import type { Route } from '../exchange/route.ts';
import { ofTurn } from '../exchange/schemas.ts';

export const pinRoutes: readonly Route[] = [
  route.get('/v1/pins', {
    name: 'listPins',
    summary: 'Pinned turns, by id',
    answer: {
      what: 'The pins',
      json: z.strictObject({
        pins: z.array(z.strictObject({ turn: z.string(), reason: z.string().optional() })),
      }),
      example: { pins: [{ turn: '2', reason: 'cited in a report' }] },
    },
    give: async ({ store }) => ({ pins: await store.contexts.pins() }),
  }),
  ofTurn.put('/pin', {
    name: 'pinTurn',
    summary: 'Keep a turn, and all before it, from being collected',
    body: {
      json: z.strictObject({ reason: z.string().optional() }),
      optional: true,
      example: { reason: 'cited in a report' },
    },
    answer: { status: 204, what: 'It is pinned' },
    give: ({ params: { id }, body, store }) => store.contexts.pin(id, body),
  }),
  ofTurn.delete('/pin', {
    name: 'unpinTurn',
    summary: 'Remove the pin of a turn',
    answer: { status: 204, what: 'It is pinned no more' },
    give: ({ params: { id }, store }) => store.contexts.unpin(id),
  }),
];
