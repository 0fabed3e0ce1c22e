import { z } from 'zod';
import { NO_TURN } from '../../../base/brand.ts';
import type { ContextId } from '../../../base/brand.ts';
import { invalid } from '../../../base/errors.ts';
import type { Context } from '../../../context/context.ts';
import { decodeMsgpack } from '../../../context/payloads/msgpack.ts';
import { defineRoute, jsonReply } from '../exchange/route.ts';
import type { HttpRequest, Reply, Route } from '../exchange/route.ts';
import { contextId, turnIdInBody, turnIdOrNoneInBody } from '../exchange/schemas.ts';
import { CLIENT_TAG } from './face.ts';
import { readRegistry } from './type-registry.ts';
import { unproject } from './unproject.ts';

const version = z
  .union([
    z.int().min(0).max(0xffff_ffff),
    z
      .string()
      .regex(/^\d{1,9}$/)
      .transform(Number),
  ])
  .describe('Of the type');
const headJson = z.strictObject({
  context_id: z.string(),
  head_turn_id: z.string(),
  head_depth: z.int(),
});
const EXAMPLE_HEAD = { context_id: '2', head_turn_id: '0', head_depth: 0 };
const createBody = z.object({ base_turn_id: turnIdOrNoneInBody.optional() });
const forkBody = z.object({ base_turn_id: turnIdInBody });
const appendBody = z.object({
  type_id: z.string(),
  type_version: version,
  data: z.unknown().optional(),
  payload: z.unknown().optional().describe('As `data`'),
  payload_base64: z.base64().optional().describe('MessagePack in base64, in place of `data`'),
  parent_turn_id: turnIdOrNoneInBody.optional().describe('Default, and 0: the head'),
  idempotency_key: z.string().optional(),
});
const params = z.strictObject({ id: contextId });
const TAG_HEADER = { 'X-CXDB-Client-Tag': 'Kept with the context, for `tag` in queries' };

const create = {
  summary: 'Create a context in the words of cxdb',
  needs: 'write',
  headers: TAG_HEADER,
  query: z.object({}),
  body: { json: createBody, optional: true, example: { base_turn_id: '0' } },
  answer: { status: 201, what: 'The new context', json: headJson, example: EXAMPLE_HEAD },
} as const;

const append = {
  summary: 'Append a turn in the words of cxdb; its payload becomes MessagePack',
  needs: 'write',
  params,
  query: z.object({}),
  body: {
    json: appendBody,
    example: { type_id: 'com.example.Message', type_version: 1, data: { text: 'hi' } },
  },
  answer: {
    status: 201,
    what: 'The turn',
    json: z.strictObject({
      context_id: z.string(),
      turn_id: z.string(),
      depth: z.int(),
      content_hash: z.string(),
    }),
    example: { context_id: '1', turn_id: '1', depth: 0, content_hash: 'ab' },
  },
} as const;

/** Routes on paths of cxdb alone. */
export const cxdbWriteRoutes: readonly Route[] = [
  defineRoute({
    ...create,
    method: 'post',
    path: '/v1/contexts/create',
    name: 'createCxdbContext',
    run: ({ body, request }) => createContext(body, request),
  }),
  defineRoute({
    ...create,
    method: 'post',
    path: '/v1/contexts/fork',
    name: 'forkCxdbContext',
    summary: 'A new context whose head is a turn, in the words of cxdb',
    body: { json: forkBody, example: { base_turn_id: '2' } },
    run: ({ body, request }) => createContext(body, request),
  }),
  defineRoute({
    ...append,
    method: 'post',
    path: '/v1/contexts/:id/append',
    name: 'appendCxdbTurn',
    run: ({ params: { id }, body, request }) => appendTurn(id, body, request),
  }),
];

/** On paths that are also ours, for requests in cxdb's words. */
export const writeFaces: readonly Route[] = [
  defineRoute({
    ...create,
    method: 'post',
    path: '/v1/contexts',
    name: 'createCxdbContext',
    run: ({ body, request }) => createContext(body, request),
  }),
  defineRoute({
    ...append,
    method: 'post',
    path: '/v1/contexts/:id/turns',
    name: 'appendCxdbTurn',
    run: ({ params: { id }, body, request }) => appendTurn(id, body, request),
  }),
];

async function createContext(
  { base_turn_id: base = NO_TURN }: z.output<typeof createBody>,
  request: HttpRequest,
): Promise<Reply> {
  const tag = request.header(CLIENT_TAG)?.trim() ?? '';
  const { contexts } = request.service.served.store;
  const made = await contexts.create({
    ...(base !== NO_TURN && { base }),
    ...(tag !== '' && { meta: { client_tag: tag } }),
  });
  return jsonReply(toHead(made));
}

function toHead({ id, head, headDepth }: Context): z.output<typeof headJson> {
  return { context_id: String(id), head_turn_id: String(head), head_depth: headDepth };
}

async function appendTurn(
  id: ContextId,
  body: z.output<typeof appendBody>,
  request: HttpRequest,
): Promise<Reply> {
  const { parent_turn_id: parent = NO_TURN, idempotency_key: key } = body;
  const { contexts } = request.service.served.store;
  const turn = await contexts.append(
    id,
    {
      type: body.type_id,
      version: body.type_version,
      encoding: 'msgpack',
      payload: await payloadOf(body, request),
    },
    {
      ...(parent !== NO_TURN && { parent }),
      ...(key !== undefined && { idempotencyKey: key }),
    },
  );
  return jsonReply({
    context_id: String(id),
    turn_id: String(turn.id),
    depth: turn.depth,
    content_hash: turn.payloadHash,
  });
}

async function payloadOf(
  {
    type_id: type,
    type_version: of,
    data,
    payload,
    payload_base64: base64,
  }: z.output<typeof appendBody>,
  request: HttpRequest,
): Promise<unknown> {
  if (base64 !== undefined) return checkedBytes(new Uint8Array(Buffer.from(base64, 'base64')));
  const value = data ?? payload;
  if (value === undefined)
    throw invalid('data', 'is missing, and so are payload and payload_base64');
  const registry = await readRegistry(request.service.served.engine);
  const spec = registry.types.get(type)?.get(of);
  return spec === undefined ? value : unproject(value, spec, registry);
}

function checkedBytes(bytes: Uint8Array): Uint8Array {
  let value: unknown;
  try {
    value = decodeMsgpack(bytes);
  } catch {
    throw invalid('payload_base64', 'is not MessagePack');
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return bytes;
  throw invalid('payload_base64', 'is no map of fields');
}
