import { z } from 'zod';
import { invalid } from '../../base/errors.ts';
import type { NewTurn } from '../../context/contexts.ts';
import { encoding } from './schemas.ts';

/** A turn as JSON can carry it: bytes in `base64`, everything else in `payload`. */
export const newTurn: z.ZodType<NewTurnJson> = z.strictObject({
  type: z.string(),
  version: z.int().min(0).optional(),
  encoding: encoding.optional(),
  payload: z.unknown().optional(),
  base64: z.base64().optional().describe('The bytes of the payload, in place of "payload"'),
});

export interface NewTurnJson extends PayloadJson {
  readonly type: string;
  readonly version?: number | undefined;
  readonly encoding?: NewTurn['encoding'] | undefined;
}

interface PayloadJson {
  readonly payload?: unknown;
  readonly base64?: string | undefined;
}

export function toNewTurn(given: NewTurnJson): NewTurn {
  const { type, version, encoding: name } = given;
  return {
    type,
    payload: toPayload(given),
    ...(version !== undefined && { version }),
    ...(name !== undefined && { encoding: name }),
  };
}

/** Takes exactly one of the two fields. */
export function toPayload(given: PayloadJson): unknown {
  if ((given.base64 === undefined) === (given.payload === undefined)) {
    throw invalid('payload', 'or base64 is needed, and only one of them');
  }
  return given.base64 === undefined ? given.payload : Buffer.from(given.base64, 'base64');
}
