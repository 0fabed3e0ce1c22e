import { z } from 'zod';
import type { EraseOptions, PatchOptions } from '../../../context/contexts.ts';
import { given } from '../exchange/conditions.ts';
import { defineRoute, jsonReply } from '../exchange/route.ts';
import type { Route } from '../exchange/route.ts';
import {
  EXAMPLE_PATCH,
  blobRef,
  encoding,
  eraseBody,
  patchJson,
  toPayload,
  turnId,
} from '../exchange/schemas.ts';

const params = z.strictObject({ id: turnId });
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
  defineRoute({
    method: 'get',
    path: '/v1/turns/:id/patches',
    name: 'listPatches',
    summary: 'All patches on a turn, oldest first',
    needs: 'read',
    params,
    answer: {
      what: 'The patches',
      json: z.strictObject({ patches: z.array(patchJson) }),
      example: { patches: [EXAMPLE_PATCH] },
    },
    async run({ params: { id }, request }) {
      return jsonReply({ patches: await request.service.served.store.contexts.patches(id) });
    },
  }),

  defineRoute({
    method: 'post',
    path: '/v1/turns/:id/patches',
    name: 'patchTurn',
    summary: 'Patch a sealed turn: readers see the new payload',
    needs: 'write',
    params,
    body: {
      json: z.strictObject({
        payload: z.unknown().optional(),
        base64: z.base64().optional(),
        encoding: encoding.optional(),
        expectedSeq,
      }),
      example: { payload: { role: 'user', text: 'hello' } },
    },
    answer: { status: 201, what: 'The patch', json: patchJson, example: EXAMPLE_PATCH },
    async run({ params: { id }, body, request }) {
      const { payload, base64, ...options } = body;
      const { contexts } = request.service.served.store;
      const bytes = toPayload({ payload, base64 });
      return jsonReply(await contexts.patch(id, bytes, given(options) as PatchOptions));
    },
  }),

  defineRoute({
    method: 'post',
    path: '/v1/turns/:id/tombstone',
    name: 'tombstoneTurn',
    summary: 'Hide the payload of a sealed turn; the bytes stay until they are erased',
    needs: 'write',
    params,
    body: {
      json: z.strictObject({ reason: z.string(), expectedSeq }),
      example: { reason: 'spam' },
    },
    answer: { status: 201, what: 'The patch', json: patchJson, example: EXAMPLE_PATCH },
    async run({ params: { id }, body: { reason, ...options }, request }) {
      const { contexts } = request.service.served.store;
      return jsonReply(await contexts.tombstone(id, reason, given(options) as PatchOptions));
    },
  }),

  defineRoute({
    method: 'post',
    path: '/v1/turns/:id/erase',
    name: 'eraseTurn',
    summary: 'Remove the bytes of a turn and its patches for good',
    needs: 'admin',
    params,
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
    async run({ params: { id }, body, request }) {
      const options = given(body) as EraseOptions;
      return jsonReply(await request.service.served.store.contexts.erase(id, options));
    },
  }),

  defineRoute({
    method: 'post',
    path: '/v1/blobs/:ref/erase',
    name: 'eraseBlob',
    summary: 'Remove the bytes of a blob for good',
    needs: 'admin',
    params: z.strictObject({ ref: blobRef }),
    body: { json: eraseBody, example: ERASE_EXAMPLE },
    answer: {
      what: '`erased` is false, and nothing changed, when turns or threads use the bytes',
      json: eraseJson,
      example: { hash: '0'.repeat(64), erased: false, usedBy: ['2'], neededBy: [] },
    },
    async run({ params: { ref }, body, request }) {
      const options = given(body) as EraseOptions;
      return jsonReply(await request.service.served.store.blobs.erase(ref, options));
    },
  }),
];
