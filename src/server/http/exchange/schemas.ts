import { z } from 'zod';
import { toContextId, toTurnId } from '../../../base/brand.ts';
import type { ContextId, TurnId } from '../../../base/brand.ts';
import { invalid } from '../../../base/errors.ts';
import { Encoding } from '../../../format/turn-record.ts';
import type { EncodingName } from '../../../format/turn-record.ts';
import { routesAt } from './route.ts';
import type { RoutesAt, HttpRequest } from './route.ts';
import { given } from '../../../base/given.ts';
import type { AppendOptions, OpenTurnOptions, ReadOptions } from '../../../context/contexts.ts';

// The values that travel, in JSON's terms: ids are decimal strings, bytes are base64 or hex.

const ID = /^[1-9]\d{0,15}$/;
const ID_OR_ZERO = /^(?:0|[1-9]\d{0,15})$/;

export const idText: z.ZodString = z.string().regex(ID, 'is a decimal id, such as "17"');
export const idOrZeroText: z.ZodString = z.string().regex(ID_OR_ZERO, 'is a decimal id, or "0"');

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

const blobRef: z.ZodString = z
  .string()
  .regex(/^(?:b3:|blob:sha256:)?[0-9a-f]{64}$/, 'is a hash, "b3:<hash>" or "blob:sha256:<hash>"');

export const ofBlob: RoutesAt<'/v1/blobs/:ref', { ref: typeof blobRef }> = routesAt(
  '/v1/blobs/:ref',
  { ref: blobRef },
);

export const encoding: z.ZodType<EncodingName> = z.enum(
  Object.keys(Encoding) as [EncodingName, ...EncodingName[]],
);

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

export const HASH = 'af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262';

/** A page of a list. */
export function pageOf(item: z.ZodType): z.ZodType {
  return z.strictObject({ items: z.array(item), cursor: z.string().optional() });
}

interface PayloadJson {
  readonly payload?: unknown;
  readonly base64?: string | undefined;
}

/** Takes exactly one of the two fields. */
export function toPayload(given: PayloadJson): unknown {
  if ((given.base64 === undefined) === (given.payload === undefined)) {
    throw invalid('payload', 'or base64 is needed; give exactly one of them');
  }
  return given.base64 === undefined ? given.payload : Buffer.from(given.base64, 'base64');
}

/** The conditions of an append, from its headers. */
export function appendConditions(request: HttpRequest): AppendOptions {
  return { ...headCondition(request), ...keyCondition(request) };
}

export function keyCondition(request: HttpRequest): { idempotencyKey?: string } {
  const idempotencyKey = request.header('idempotency-key');
  return idempotencyKey === undefined ? {} : { idempotencyKey };
}

/** `If-Match: "17"`: the head must be turn 17; `"0"`: the context must be empty. */
export function headCondition(request: HttpRequest): OpenTurnOptions {
  const header = request.header('if-match');
  if (header === undefined) return {};
  const [, id] = /^\s*"(0|[1-9]\d{0,15})"\s*$/.exec(header) ?? [];
  if (id === undefined)
    throw invalid('If-Match', 'must be the id of the head in quotes, such as "17"');
  return { expectedHead: toTurnId(id, true) };
}

/** The options for reading turns over HTTP. */
export type TurnsRead = Pick<ReadOptions, 'as' | 'maxBytes' | 'payload'>;

export function readOptions({ payload, as, maxBytes }: Undefinable<TurnsRead>): TurnsRead {
  return given({ payload, as, maxBytes });
}

/** As a query has it: a field that was not given is undefined. */
type Undefinable<T> = { readonly [Name in keyof T]?: T[Name] | undefined };

/** True when the client has this version already, by the header `If-None-Match`. */
export function isKnown(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  const tags = header.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes('*') || tags.includes(etag);
}
