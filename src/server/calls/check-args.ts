import { z } from 'zod';
import type { ContextId, Hash, TurnId } from '../../base/brand.ts';
import { NAME_BYTES_MAX } from '../../wire/limits.ts';

// Schemas that check every argument from outside, once, before anything is done. They refuse values that JSON can
// express and the engine cannot store: lone surrogates, ids beyond all numbers, unknown names.

const ID_MAX = BigInt(Number.MAX_SAFE_INTEGER);

/** The number of records that one call may ask for. */
export const RECORDS_MAX = 10_000;
/** The approximate size of one answer in bytes, at most. The last record of an answer may go beyond it. */
export const ANSWER_BYTES = 8_388_608;
const U32_MAX = 0xffff_ffff;

const isWellFormed = (text: string): boolean => !/\p{Surrogate}/u.test(text);
const takesAtMost =
  (bytes: number) =>
  (text: string): boolean =>
    Buffer.byteLength(text) <= bytes;

/** Input once it is checked: JSON and queries have no undefined, so a field that was not given is absent. */
export type Checked<T> = T extends
  | string
  | number
  | bigint
  | boolean
  | null
  | undefined
  | Uint8Array
  ? T
  : T extends readonly (infer Item)[]
    ? Checked<Item>[]
    : T extends object
      ? { [K in keyof T]: Checked<Exclude<T[K], undefined>> }
      : T;

export const hash: z.ZodType<Hash> = z
  .string()
  .regex(/^[0-9a-f]{64}$/, 'is 64 lower-case hex digits') as unknown as z.ZodType<Hash>;
export const sha256: z.ZodType<string> = hash;
export const turnId: z.ZodType<TurnId> = z
  .bigint()
  .min(1n)
  .max(ID_MAX) as unknown as z.ZodType<TurnId>;
/** A turn id, or zero where "no turn" has a meaning. */
export const turnIdOrNone: z.ZodType<TurnId> = z
  .bigint()
  .min(0n)
  .max(ID_MAX) as unknown as z.ZodType<TurnId>;
export const contextId: z.ZodType<ContextId> = z
  .bigint()
  .min(1n)
  .max(ID_MAX) as unknown as z.ZodType<ContextId>;
export const count: z.ZodType<number> = z.int().min(0);
export const u32: z.ZodType<number> = z.int().min(0).max(U32_MAX);
export const limit: z.ZodType<number> = z.int().min(0).max(RECORDS_MAX);
export const bytes: z.ZodType<Uint8Array> = z.instanceof(Uint8Array);
/** Any text that has a UTF-8 form. */
export const text: z.ZodType<string> = z.string().refine(isWellFormed, 'has a lone surrogate');
/** Text as short as a type or a key. */
export const shortText: z.ZodType<string> = z
  .string()
  .refine(takesAtMost(NAME_BYTES_MAX), `takes at most ${NAME_BYTES_MAX} bytes`)
  .refine(isWellFormed, 'has a lone surrogate');
