import { given } from '../../../base/given.ts';
import { toTurnId } from '../../../base/brand.ts';
import { invalid } from '../../../base/errors.ts';
import type { AppendOptions, OpenTurnOptions, ReadOptions } from '../../../context/contexts.ts';
import type { HttpRequest } from './route.ts';

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

interface ReadQuery {
  readonly payload?: boolean | number | undefined;
  readonly as?: 'latest' | 'original' | number | undefined;
  readonly maxBytes?: number | undefined;
}

export function readOptions({ payload, as, maxBytes }: ReadQuery): TurnsRead {
  return given({ payload, as, maxBytes });
}

/** True when the client has this version already, by the header `If-None-Match`. */
export function isKnown(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  const tags = header.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes('*') || tags.includes(etag);
}
