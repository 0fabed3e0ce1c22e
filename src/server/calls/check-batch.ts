import { z } from 'zod';
import type { Hash } from '../../base/brand.ts';
import { invalid, tooLarge } from '../../base/errors.ts';
import { hashBytes, sha256Hex } from '../../base/hash.ts';
import { checkContextName, checkDetails } from '../../context/context-details.ts';
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
import { RAW_BYTES_MAX } from '../../wire/limits.ts';
import type { Identity } from '../access/access.ts';
import {
  bytes,
  contextId,
  count,
  hash,
  sha256,
  shortText,
  text,
  turnId,
  turnIdOrNone,
  u32,
} from './check-args.ts';
import { checkRecords } from './remote-records.ts';

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
