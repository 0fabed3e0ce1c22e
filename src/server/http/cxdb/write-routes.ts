import { isFields } from '../../../base/fields.ts';
import { z } from 'zod';
import { NO_TURN, type ContextId, type TurnId } from '../../../base/brand.ts';
import { invalid, isQuipuError } from '../../../base/errors.ts';
import type { Context } from '../../../context/context.ts';
import type { NewTurn } from '../../../context/contexts.ts';
import type { Turn } from '../../../context/turn.ts';
import { decodeMsgpack } from '../../../context/payloads/binary-values.ts';
import { checkInput, jsonReply, route } from '../exchange/route.ts';
import type { HttpRequest, Reply, Route } from '../exchange/route.ts';
import { ofContext, turnIdInBody, turnIdOrNoneInBody } from '../exchange/schemas.ts';
import { CLIENT_TAG, cxdbErrorOf } from './face.ts';
import { readRegistry } from './type-registry.ts';
import { unproject } from './project.ts';

const version = z
  .union([
    z.int().min(0).max(0xffff_ffff),
    z
      .string()
      .regex(/^\d{1,9}$/)
      .transform(Number),
  ])
  .describe('Of the type');
/** As in cxdb. */
const BATCH_MAX = 256;
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
/** An item is checked on its own, so that the answer can say which one is wrong. */
const batchTurns = z.array(z.unknown()).min(1).max(BATCH_MAX);
const batchBody = z
  .object({ turns: batchTurns.optional(), items: batchTurns.optional().describe('As `turns`') })
  .transform(({ turns, items }) => turns ?? items)
  .refine((turns) => turns !== undefined, 'turns is missing');
const itemBody = appendBody.omit({ idempotency_key: true });
const TAG_HEADER = { 'X-CXDB-Client-Tag': 'Kept with the context, for `tag` in queries' };

const create = {
  headers: TAG_HEADER,
  query: z.object({}),
  answer: { status: 201, what: 'The new context', json: headJson, example: EXAMPLE_HEAD },
} as const;

function createAt(path: string): Route {
  return route.post(path, {
    ...create,
    name: 'createCxdbContext',
    summary: 'Create a context in the words of cxdb',
    body: { json: createBody, optional: true, example: { base_turn_id: '0' } },
    run: ({ body, request }) => createContext(body, request),
  });
}

function appendAt(path: '/append' | '/turns'): Route {
  return ofContext.post(path, {
    name: 'appendCxdbTurn',
    summary: 'Append a turn in the words of cxdb; its payload becomes MessagePack',
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
    run: ({ params: { id }, body, request }) => appendTurn(id, body, request),
  });
}

/** Routes on paths of cxdb alone. */
export const cxdbWriteRoutes: readonly Route[] = [
  createAt('/v1/contexts/create'),
  route.post('/v1/contexts/fork', {
    ...create,
    name: 'forkCxdbContext',
    summary: 'A new context whose head is a turn, in the words of cxdb',
    body: { json: forkBody, example: { base_turn_id: '2' } },
    run: ({ body, request }) => createContext(body, request),
  }),
  appendAt('/append'),
  ofContext.post('/append-batch', {
    name: 'appendCxdbTurns',
    summary: 'Append turns in the words of cxdb, all or none',
    query: z.object({}),
    body: {
      json: batchBody,
      example: {
        turns: [{ type_id: 'com.example.Message', type_version: 1, data: { text: 'a' } }],
      },
    },
    answer: {
      status: 201,
      what: 'The turns; when one is refused, `failed_index` says which',
      json: z.looseObject({
        context_id: z.string(),
        turns: z.array(z.looseObject({ turn_id: z.string() })),
        partial: z.boolean(),
      }),
      example: {
        context_id: '1',
        turns: [{ turn_id: '1', parent_turn_id: '0', depth: 0, content_hash: 'ab' }],
        partial: false,
      },
    },
    run: ({ params: { id }, body, request }) => appendTurns(id, body, request),
  }),
];

/** On paths that are also ours, for requests in cxdb's words. */
export const writeFaces: readonly Route[] = [createAt('/v1/contexts'), appendAt('/turns')];

async function createContext(
  { base_turn_id: base = NO_TURN }: z.output<typeof createBody>,
  request: HttpRequest,
): Promise<Reply> {
  const tag = (request.header(CLIENT_TAG) ?? request.header('x-client-tag'))?.trim() ?? '';
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
  const turn = await contexts.append(id, await turnOf(body, request), {
    ...(parent !== NO_TURN && { parent }),
    ...(key !== undefined && { idempotencyKey: key }),
  });
  return jsonReply({
    context_id: String(id),
    turn_id: String(turn.id),
    depth: turn.depth,
    content_hash: turn.payloadHash,
  });
}

/**
 * Turns that follow each other are one commit. A turn with a parent of its own begins another, which may fail when the
 * turns before it are there: then the answer has these, as in cxdb.
 */
async function appendTurns(
  id: ContextId,
  items: readonly unknown[],
  request: HttpRequest,
): Promise<Reply> {
  const { contexts } = request.service.served.store;
  const appended: Turn[] = [];
  let index = 0;
  try {
    const runs: Run[] = [];
    for (const item of items) {
      const body = checkInput(itemBody, item, 'turn');
      const { parent_turn_id: parent = NO_TURN } = body;
      if (parent !== NO_TURN || runs.length === 0) runs.push({ parent, turns: [] });
      runs.at(-1)?.turns.push(await turnOf(body, request));
      index += 1;
    }
    for (const { parent, turns } of runs) {
      index = appended.length;
      const options = parent === NO_TURN ? {} : { parent };
      appended.push(...(await contexts.appendBatch(id, turns, options)));
    }
  } catch (error) {
    if (isQuipuError(error, 'NOT_FOUND') && error.data.what === 'context') throw error;
    const { status, error: refused } = cxdbErrorOf(error, true);
    return jsonReply(
      { ...batchJson(id, appended, appended.length > 0), failed_index: index, error: refused },
      { status },
    );
  }
  return jsonReply(batchJson(id, appended, false));
}

interface Run {
  readonly parent: TurnId;
  readonly turns: NewTurn[];
}

function batchJson(id: ContextId, turns: readonly Turn[], partial: boolean): object {
  return {
    context_id: String(id),
    turns: turns.map((turn) => ({
      turn_id: String(turn.id),
      parent_turn_id: String(turn.parent),
      depth: turn.depth,
      content_hash: turn.payloadHash,
    })),
    partial,
  };
}

async function turnOf(body: z.output<typeof itemBody>, request: HttpRequest): Promise<NewTurn> {
  return {
    type: body.type_id,
    version: body.type_version,
    encoding: 'msgpack',
    payload: await payloadOf(body, request),
  };
}

async function payloadOf(body: z.output<typeof itemBody>, request: HttpRequest): Promise<unknown> {
  const { payload_base64: base64, type_id: type, type_version: of } = body;
  if (base64 !== undefined) return checkedBytes(new Uint8Array(Buffer.from(base64, 'base64')));
  const value = body.data ?? body.payload;
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
  if (isFields(value)) return bytes;
  throw invalid('payload_base64', 'is no map of fields');
}
