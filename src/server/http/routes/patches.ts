import { z } from 'zod';
import type { Route } from '../exchange/route.ts';
import { HASH, encoding, idText, ofBlob, ofTurn, toPayload } from '../exchange/schemas.ts';
import { EXAMPLES, route } from '../exchange/route.ts';

export const patchJson: z.ZodType = z
  .strictObject({
    seq: z.int().min(1),
    turn: idText,
    tombstone: z.boolean(),
    encoding: z.union([encoding, z.int()]),
    payloadHash: z.string(),
    size: z.int().min(0),
    createdAt: z.number(),
  })
  .register(EXAMPLES, {
    seq: 1,
    turn: '2',
    tombstone: false,
    encoding: 'json',
    payloadHash: HASH,
    size: 30,
    createdAt: 1_790_000_001_000,
  });

const eraseBody = z.strictObject({ reason: z.string(), everywhere: z.boolean().optional() });

const expectedSeq = z
  .int()
  .min(0)
  .optional()
  .describe('The newest patch of the turn must have this number (0: none)');
const eraseJson = z.strictObject({
  hash: z.string(),
  erased: z.boolean(),
  usedBy: z.array(z.string()),
  neededBy: z.array(z.strictObject({ kind: z.string(), id: z.string() })),
});
const ERASE_EXAMPLE = { reason: 'a secret was pasted here' };

export const patchRoutes: readonly Route[] = [
  ofTurn.get('/patches', {
    name: 'listPatches',
    summary: 'All patches on a turn, oldest first',
    answer: { what: 'The patches', json: z.strictObject({ patches: z.array(patchJson) }) },
    give: async ({ params: { id }, store }) => ({ patches: await store.contexts.patches(id) }),
  }),

  ofTurn.post('/patches', {
    name: 'patchTurn',
    summary: 'Patch a sealed turn: readers see the new payload',
    body: {
      json: z.strictObject({
        payload: z.unknown().optional(),
        base64: z.base64().optional(),
        encoding: encoding.optional(),
        expectedSeq,
      }),
      example: { payload: { role: 'user', text: 'hello' } },
    },
    answer: { status: 201, what: 'The patch', json: patchJson },
    give: ({ params: { id }, body: { payload, base64, ...options }, store }) =>
      store.contexts.patch(id, toPayload({ payload, base64 }), options),
  }),

  ofTurn.post('/tombstone', {
    name: 'tombstoneTurn',
    summary: 'Hide the payload of a sealed turn; the bytes stay until they are erased',
    body: {
      json: z.strictObject({ reason: z.string(), expectedSeq }),
      example: { reason: 'spam' },
    },
    answer: { status: 201, what: 'The patch', json: patchJson },
    give: ({ params: { id }, body: { reason, ...options }, store }) =>
      store.contexts.tombstone(id, reason, options),
  }),

  ofTurn.post('/erase', {
    name: 'eraseTurn',
    summary: 'Remove the bytes of a turn and its patches for good',
    needs: 'admin',
    body: { json: eraseBody, example: ERASE_EXAMPLE },
    answer: {
      what: '`erased` is false, and nothing changed, when other turns or threads use the bytes',
      json: z.strictObject({
        turn: z.string(),
        erased: z.boolean(),
        blobs: z.array(eraseJson),
      }),
      example: { turn: '2', erased: true, blobs: [] },
    },
    give: ({ params: { id }, body, store }) => store.contexts.erase(id, body),
  }),

  ofBlob.post('/erase', {
    name: 'eraseBlob',
    summary: 'Remove the bytes of a blob for good',
    needs: 'admin',
    body: { json: eraseBody, example: ERASE_EXAMPLE },
    answer: {
      what: '`erased` is false, and nothing changed, when turns or threads use the bytes',
      json: eraseJson,
      example: { hash: '0'.repeat(64), erased: false, usedBy: ['2'], neededBy: [] },
    },
    give: ({ params: { ref }, body, store }) => store.blobs.erase(ref, body),
  }),
];

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
