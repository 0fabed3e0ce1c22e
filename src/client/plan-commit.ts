import type { ContextId } from '../base/brand.ts';
import type { Batch, BlobPut, ContextChange } from '../engine/batch.ts';

// Decides how a batch is sent over a connection that can be lost before the answer comes.

/**
 * `same`: carrying the batch out twice has the same effect as once. `compared`: the batch can be carried out only once,
 * but a refusal does not tell whether the first attempt or another client caused it. `once`: neither.
 */
export type Repetition = 'same' | 'compared' | 'once';

export function repetitionOf(batch: Batch): Repetition {
  const { contexts = [], turns = [], opens = [], seals = [] } = batch;
  const { patches = [], logs = [], docs = [] } = batch;
  // If the keys are known, the server repeats no part of the batch, whatever else the batch holds.
  if (batch.idempotency !== undefined && turns.length > 0) return 'same';
  if (turns.some(({ key }) => key !== undefined)) return 'same';
  if (contexts.some(isMadeOnce)) return 'same';
  const compared = [
    ...contexts.map(isChangedOnce),
    ...turns.map((turn) => turn.expectedHead !== undefined),
    ...opens.map((open) => open.expectedHead !== undefined),
    ...seals.filter(({ payload }) => payload === undefined).map(() => true),
    ...patches.map((patch) => patch.expectedSeq !== undefined),
    ...logs.map((log) => log.do === 'append' && log.expectedLines !== undefined),
    ...docs.map((doc) => doc.expectedVersion !== undefined),
  ];
  if ((batch.fsRoots ?? []).length > 0) return 'once';
  // Blobs, deltas at their offset and seals with their payload have the same effect however often they come.
  if (compared.length === 0) return 'same';
  return compared.every(Boolean) ? 'compared' : 'once';
}

/** True for a new context that the server finds, when it is there already. */
function isMadeOnce(change: ContextChange): boolean {
  return change.do === 'create' && (change.key !== undefined || change.getNamed === true);
}

/** True for a change that the server refuses when it is made already. */
function isChangedOnce(change: ContextChange): boolean {
  if (change.do === 'create') return change.meta?.name !== undefined;
  return change.do === 'move' && change.expectedHead !== undefined;
}

/** True when a batch has turns, their blobs and perhaps a key, and nothing else. */
export function isAppend(batch: Batch): boolean {
  let name: keyof Batch;
  for (name in batch) {
    if (name === 'turns' || name === 'blobs' || name === 'idempotency') continue;
    if (batch[name] !== undefined) return false;
  }
  return true;
}

/**
 * The context that a key may be for: the batch holds turns of one existing context, none with a key of its own, and
 * nothing else but their blobs.
 */
export function keyScope(batch: Batch): ContextId | undefined {
  const { turns, idempotency } = batch;
  if (turns === undefined || idempotency !== undefined || !isAppend(batch)) return undefined;
  const context = turns[0]?.context;
  if (typeof context !== 'bigint') return undefined;
  for (const turn of turns) {
    if (turn.context !== context || turn.key !== undefined) return undefined;
  }
  return context;
}

/** Payload bytes that travel with the rest of a batch. More bytes are put before the batch. */
const TOGETHER_BYTES = 8_388_608;

export interface SplitBatch {
  /** Groups of blobs to put first, each in a commit of its own. */
  readonly before: readonly (readonly BlobPut[])[];
  readonly batch: Batch;
}

/** A blob that was put before is still there when the batch comes, because it is too young to be collected. */
export function splitBlobs(batch: Batch): SplitBatch {
  let bytes = 0;
  for (const blob of batch.blobs ?? []) bytes += blob.bytes.length;
  if (bytes <= TOGETHER_BYTES) return { before: [], batch };
  const { blobs = [], ...rest } = batch;
  const hasMore = Object.values(rest).some((value) => value !== undefined);
  if (blobs.length === 1 && !hasMore) return { before: [], batch };
  const before: BlobPut[][] = [];
  let room = 0;
  for (const blob of blobs) {
    room -= blob.bytes.length;
    if (room < 0) {
      before.push([]);
      room = TOGETHER_BYTES - blob.bytes.length;
    }
    before.at(-1)?.push(blob);
  }
  return { before, batch: rest };
}
