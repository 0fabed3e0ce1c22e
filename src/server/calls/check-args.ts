import { z } from 'zod';
import type { ContextId, Hash, TurnId } from '../../base/brand.ts';
import { NAME_BYTES_MAX, RAW_BYTES_MAX } from '../../wire/limits.ts';
import { invalid, tooLarge } from '../../base/errors.ts';
import { hashBytes, sha256Hex } from '../../base/hash.ts';
import { checkContextName, checkDetails } from '../../context/check-input.ts';
import type {
  Batch,
  BlobPut,
  ContextChange,
  DocChange,
  FsRootAttach,
  PatchAppend,
  TurnAppend,
  TurnDelta,
  TurnOpen,
  TurnSeal,
} from '../../engine/batch.ts';
import type { Engine } from '../../engine/engine.ts';
import { assertJsonLine, assertJsonText } from '../../engine/json-text.ts';
import { assertName } from '../../engine/names.ts';
import type { Identity } from '../access/access.ts';
import { checkRecords } from './remote-records.ts';

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
const turnIdOrNone: z.ZodType<TurnId> = z
  .bigint()
  .min(0n)
  .max(ID_MAX) as unknown as z.ZodType<TurnId>;
export const contextId: z.ZodType<ContextId> = z
  .bigint()
  .min(1n)
  .max(ID_MAX) as unknown as z.ZodType<ContextId>;
export const count: z.ZodType<number> = z.int().min(0);
const u32: z.ZodType<number> = z.int().min(0).max(U32_MAX);
export const limit: z.ZodType<number> = z.int().min(0).max(RECORDS_MAX);
const bytes: z.ZodType<Uint8Array> = z.instanceof(Uint8Array);
/** Any text that has a UTF-8 form. */
export const text: z.ZodType<string> = z.string().refine(isWellFormed, 'has a lone surrogate');
/** Text as short as a type or a key. */
const shortText: z.ZodType<string> = z
  .string()
  .refine(takesAtMost(NAME_BYTES_MAX), `takes at most ${NAME_BYTES_MAX} bytes`)
  .refine(isWellFormed, 'has a lone surrogate');

/** A schema for every field: when a field is added to the contract, this does not compile until it is listed here. */
type Fields<T> = { readonly [Name in keyof T]-?: z.ZodType };

const contextRef = z.union([contextId, z.strictObject({ created: count })]);
const open = {
  context: contextRef,
  parent: turnIdOrNone.optional(),
  expectedHead: turnIdOrNone.optional(),
  type: shortText,
  version: u32,
  encoding: u32,
  fsRoot: hash.optional(),
} satisfies Fields<TurnOpen>;
const turn = {
  ...open,
  payload: hash,
  size: count,
  key: shortText.optional(),
} satisfies Fields<TurnAppend>;
// A frame is trusted to be that of the bytes, so none comes from a client.
const blob = { hash, bytes, sha256: sha256.optional() } satisfies Fields<Omit<BlobPut, 'zstd'>>;
const delta = { turn: turnId, offset: count, bytes } satisfies Fields<TurnDelta>;
const seal = {
  turn: turnId,
  outcome: z.enum(['complete', 'aborted', 'interrupted']),
  payload: hash.optional(),
  size: count.optional(),
  expectedBytes: count.optional(),
} satisfies Fields<TurnSeal>;
const hasBothOrNone = ({ payload, size }: { payload?: unknown; size?: unknown }): boolean =>
  (payload === undefined) === (size === undefined);
const patch = {
  turn: turnId,
  tombstone: z.boolean(),
  encoding: u32,
  payload: hash,
  size: count,
  expectedSeq: count.optional(),
} satisfies Fields<PatchAppend>;
const fsRoot = { turn: turnId, root: hash } satisfies Fields<FsRootAttach>;
const doc = {
  name: text,
  content: text.optional(),
  expectedVersion: count.optional(),
  publish: z.boolean().optional(),
} satisfies Fields<DocChange>;
/** The details that users give a context have rules of their own, see `checkDetails`. */
const meta = z.looseObject({});
const contexts = z.discriminatedUnion('do', [
  z.strictObject({
    do: z.literal('create'),
    base: turnId.optional(),
    meta: meta.optional(),
    getNamed: z.literal(true).optional(),
    key: shortText.optional(),
  }),
  z.strictObject({ do: z.literal('describe'), context: contextId, meta }),
  z.strictObject({ do: z.literal('rename'), context: contextId, name: text.optional() }),
  z.strictObject({
    do: z.literal('move'),
    context: contextId,
    head: turnIdOrNone,
    expectedHead: turnIdOrNone.optional(),
  }),
  z.strictObject({ do: z.literal('remove'), context: contextId }),
]);
const logs = z.discriminatedUnion('do', [
  z.strictObject({
    do: z.literal('append'),
    name: text,
    lines: z.array(text),
    expectedLines: count.optional(),
  }),
  z.strictObject({ do: z.literal('remove'), name: text }),
]);
const batchFields = {
  idempotency: z.strictObject({ context: contextId, key: shortText }).optional(),
  blobs: z.array(z.strictObject(blob)).optional(),
  contexts: z.array(contexts).optional(),
  turns: z.array(z.strictObject(turn)).optional(),
  opens: z.array(z.strictObject(open)).optional(),
  deltas: z.array(z.strictObject(delta)).optional(),
  seals: z.array(z.strictObject(seal).refine(hasBothOrNone, 'needs payload and size')).optional(),
  patches: z.array(z.strictObject(patch)).optional(),
  fsRoots: z.array(z.strictObject(fsRoot)).optional(),
  logs: z.array(logs).optional(),
  docs: z.array(z.strictObject(doc)).optional(),
} satisfies Fields<Batch>;
export const batch: z.ZodType<Batch> = z.strictObject(batchFields) as unknown as z.ZodType<Batch>;

/**
 * Turns a batch from outside, of the right shape, into one that the engine may trust. Every hash matches its bytes and every size matches
 * its blob. The store can keep every text and name, and `identity` may write them.
 */
export async function checkBatch(engine: Engine, batch: Batch, identity: Identity): Promise<Batch> {
  const keys = [batch.idempotency?.key, ...(batch.turns ?? []).map(({ key }) => key)];
  if (keys.includes('')) throw invalid('key', 'is empty');
  const sizes = checkBlobs(batch.blobs ?? []);
  for (const { turn: id, offset, bytes: added } of batch.deltas ?? []) {
    const size = offset + added.length;
    // The text becomes one payload, in memory.
    if (size > RAW_BYTES_MAX) throw tooLarge(`turn ${id}`, RAW_BYTES_MAX, size);
  }
  for (const change of batch.logs ?? []) {
    assertName(change.name, 'log name');
    if (change.do === 'append') for (const line of change.lines) assertJsonLine(line, 'line');
  }
  for (const { name, content } of batch.docs ?? []) {
    assertName(name, 'document name');
    if (content !== undefined) assertJsonText(content, 'content');
  }
  await checkRecords(engine, batch, identity);
  const { turns = [], seals = [], patches = [] } = batch;
  const sealed = seals.filter((each) => each.payload !== undefined);
  for (const used of [...turns, ...sealed, ...patches]) await checkSize(engine, sizes, used);
  if (batch.contexts === undefined) return batch;
  return { ...batch, contexts: batch.contexts.map(checkContext) };
}

function checkBlobs(blobs: readonly BlobPut[]): Map<Hash, number> {
  const sizes = new Map<Hash, number>();
  for (const [index, put] of blobs.entries()) {
    const what = `blobs[${index}]`;
    const size = put.bytes.length;
    if (size > RAW_BYTES_MAX) throw tooLarge(what, RAW_BYTES_MAX, size);
    if (hashBytes(put.bytes) !== put.hash) throw invalid(what, 'does not match its hash');
    if (put.sha256 !== undefined && sha256Hex(put.bytes) !== put.sha256) {
      throw invalid(what, 'does not match its SHA-256');
    }
    sizes.set(put.hash, size);
  }
  return sizes;
}

/** A missing blob is left to the engine, which reports it. */
async function checkSize(
  engine: Engine,
  sizes: ReadonlyMap<Hash, number>,
  { payload, size }: { readonly payload: Hash; readonly size: number },
): Promise<void> {
  const known = sizes.get(payload) ?? (await engine.statBlob(payload))?.size;
  if (known === undefined || known === size) return;
  throw invalid('size', `of blob ${payload} is ${known}, not ${size}`);
}

function checkContext(change: ContextChange): ContextChange {
  if (change.do === 'create' && change.key === '') throw invalid('key', 'is empty');
  if (change.do === 'rename' && change.name !== undefined) checkContextName(change.name);
  if (change.do !== 'create' && change.do !== 'describe') return change;
  if (change.meta === undefined) return change;
  const fields = ['title', 'kind', 'labels', 'meta', ...(change.do === 'create' ? ['name'] : [])];
  for (const field of Object.keys(change.meta)) {
    if (!fields.includes(field)) throw invalid('meta', `has no ${JSON.stringify(field)}`);
  }
  return { ...change, meta: checkDetails(change.meta) };
}
