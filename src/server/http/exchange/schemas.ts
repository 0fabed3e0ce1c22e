import { z } from 'zod';
import { toContextId, toTurnId } from '../../../base/brand.ts';
import type { ContextId, TurnId } from '../../../base/brand.ts';
import { invalid } from '../../../base/errors.ts';
import { Encoding, type EncodingName } from '../../../format/turn-record.ts';
import type { BatchTurn, NewTurn } from '../../../context/contexts.ts';
import type { Checked } from '../../calls/check-args.ts';
import { EXAMPLES, routesAt } from './route.ts';
import type { RoutesAt } from './route.ts';

// The values that travel, in JSON's terms: ids are decimal strings, bytes are base64 or hex.

const ID = /^[1-9]\d{0,15}$/;
const ID_OR_ZERO = /^(?:0|[1-9]\d{0,15})$/;

const idText = z.string().regex(ID, 'is a decimal id, such as "17"');
const idOrZeroText = z.string().regex(ID_OR_ZERO, 'is a decimal id, or "0"');

export const turnId: z.ZodType<TurnId, string> = idText
  .transform((id) => toTurnId(id))
  .describe('The id of a turn');
/** In a body, where JSON has numbers, too. */
export const turnIdOrNoneInBody: z.ZodType<TurnId, string | number> = z
  .union([idOrZeroText, z.int().min(0)])
  .transform((id) => toTurnId(id, true))
  .describe('The id of a turn, or 0 for none');
export const turnIdInBody: z.ZodType<TurnId, string | number> = z
  .union([idText, z.int().min(1)])
  .transform((id) => toTurnId(id))
  .describe('The id of a turn');
export const turnIdOrNone: z.ZodType<TurnId, string> = idOrZeroText
  .transform((id) => toTurnId(id, true))
  .describe('The id of a turn, or "0" for none');
export const contextId: z.ZodType<ContextId, string> = idText
  .transform((id) => toContextId(id))
  .describe('The id of a context');

/** The routes of one context, and of one turn. */
export const ofContext: RoutesAt<'/v1/contexts/:id', { id: typeof contextId }> = routesAt(
  '/v1/contexts/:id',
  { id: contextId },
);
export const ofTurn: RoutesAt<'/v1/turns/:id', { id: typeof turnId }> = routesAt('/v1/turns/:id', {
  id: turnId,
});

/** A whole number in a query. */
export const count: z.ZodType<number, string> = z
  .string()
  .regex(/^\d{1,15}$/, 'is a whole number')
  .transform(Number);

export const flag: z.ZodType<boolean, 'true' | 'false'> = z
  .enum(['true', 'false'])
  .transform((text) => text === 'true');

export const blobRef: z.ZodString = z
  .string()
  .regex(/^(?:b3:|blob:sha256:)?[0-9a-f]{64}$/, 'is a hash, "b3:<hash>" or "blob:sha256:<hash>"');

export const ofBlob: RoutesAt<'/v1/blobs/:ref', { ref: typeof blobRef }> = routesAt(
  '/v1/blobs/:ref',
  { ref: blobRef },
);

export const encoding: z.ZodType<EncodingName> = z.enum(
  Object.keys(Encoding) as [EncodingName, ...EncodingName[]],
);

const newTurnFields = {
  type: z.string(),
  version: z.int().min(0).optional(),
  encoding: encoding.optional(),
  payload: z.unknown().optional(),
  base64: z.base64().optional().describe('The bytes of the payload, in place of "payload"'),
};

/** A turn as JSON can carry it: bytes in `base64`, everything else in `payload`. */
export const newTurn: z.ZodType<NewTurnJson> = z.strictObject(newTurnFields);

export const batchTurn: z.ZodType<BatchTurnJson> = z.strictObject({
  ...newTurnFields,
  idempotencyKey: z
    .string()
    .optional()
    .describe('The key of this turn alone; all turns of a batch have one, or none'),
});

interface ReadQueryShape {
  readonly payload: z.ZodType<boolean | number | undefined, string | undefined>;
  readonly as: z.ZodType<'latest' | 'original' | number | undefined, string | undefined>;
}

export const readQuery: ReadQueryShape = {
  payload: z
    .union([flag, count])
    .optional()
    .describe(
      'Default true. False reads records alone, a number only payloads of up to that many bytes',
    ),
  as: z
    .string()
    .regex(/^(?:latest|original|\d{1,15})$/, 'is "latest", "original" or a patch number')
    .transform((text) => (text === 'latest' || text === 'original' ? text : Number(text)))
    .optional()
    .describe('Patches in force: the newest (default), none, or those up to a number'),
};

interface DetailsShape {
  readonly title: z.ZodOptional<z.ZodString>;
  readonly kind: z.ZodOptional<z.ZodString>;
  readonly labels: z.ZodOptional<z.ZodArray<z.ZodString>>;
  readonly meta: z.ZodOptional<z.ZodUnknown>;
}

export const detailsShape: DetailsShape = {
  title: z.string().optional(),
  kind: z.string().optional(),
  labels: z.array(z.string()).optional(),
  meta: z.unknown().optional(),
};

export const contextName: z.ZodString = z.string().describe('Any text of 1 to 512 bytes in UTF-8');

export const contextJson: z.ZodType = z
  .strictObject({
    id: idText,
    head: idOrZeroText,
    headDepth: z.int().min(0),
    base: idOrZeroText,
    openTurn: idOrZeroText,
    flags: z.int().min(0).describe('2: a turn is being streamed; 4: it is a fork'),
    createdAt: z.number(),
    updatedAt: z.number(),
    name: contextName.optional(),
    ...detailsShape,
    labels: z.array(z.string()),
  })
  .describe('A movable head on the tree of turns, and what people say about it')
  .register(EXAMPLES, {
    id: '1',
    head: '2',
    headDepth: 1,
    base: '0',
    openTurn: '0',
    flags: 0,
    createdAt: 1_790_000_000_000,
    updatedAt: 1_790_000_000_500,
    title: 'fix the parser',
    labels: ['work'],
  });

export const HASH = 'af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262';

export const EXAMPLE_TURN: object = {
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

export const blobJson: z.ZodType = z
  .strictObject({
    hash: z.string(),
    sha256: z.string().optional(),
    size: z.int().min(0),
    storedSize: z.int().min(0),
    existed: z.boolean(),
  })
  .register(EXAMPLES, { hash: HASH, size: 0, storedSize: 96, existed: false });

/** A page of a list. */
export function pageOf(item: z.ZodType): z.ZodType {
  return z.strictObject({ items: z.array(item), cursor: z.string().optional() });
}

export const eraseBody: z.ZodObject<{
  reason: z.ZodString;
  everywhere: z.ZodOptional<z.ZodBoolean>;
}> = z.strictObject({ reason: z.string(), everywhere: z.boolean().optional() });

export const errorJson: z.ZodType = z.strictObject({
  error: z.strictObject({
    code: z.string(),
    message: z.string(),
    data: z.record(z.string(), z.unknown()),
  }),
});

interface NewTurnJson extends PayloadJson {
  readonly type: string;
  readonly version?: number | undefined;
  readonly encoding?: NewTurn['encoding'] | undefined;
}

interface BatchTurnJson extends NewTurnJson {
  readonly idempotencyKey?: string | undefined;
}

interface PayloadJson {
  readonly payload?: unknown;
  readonly base64?: string | undefined;
}

export function toNewTurn({ payload, base64, ...turn }: Checked<BatchTurnJson>): BatchTurn {
  return { ...turn, payload: toPayload({ payload, base64 }) };
}

/** Takes exactly one of the two fields. */
export function toPayload(given: PayloadJson): unknown {
  if ((given.base64 === undefined) === (given.payload === undefined)) {
    throw invalid('payload', 'or base64 is needed; give exactly one of them');
  }
  return given.base64 === undefined ? given.payload : Buffer.from(given.base64, 'base64');
}
