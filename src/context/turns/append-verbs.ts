import { toContextId, toHash, toTurnId } from '../../base/brand.ts';
import { only } from '../../base/check-value.ts';
import type { ContextId, Hash, TurnId } from '../../base/brand.ts';
import { QuipuError, invalid, isQuipuError } from '../../base/errors.ts';
import { kindOf } from '../../base/text.ts';
import type { Batch, BlobPut, TurnAppend } from '../../engine/batch.ts';
import { Encoding } from '../../format/turn-record.ts';
import { checkKept, checkKey, checkPlacement, checkType, checkVersion } from '../check-input.ts';
import type { ContextsParts } from './loaded-page.ts';
import type { AppendOptions, BatchTurn, Contexts, NewTurn, NewTurnHeader } from '../contexts.ts';
import { BATCH_TURNS_MAX } from '../limits.ts';
import {
  type EncodedPayload,
  type PayloadRules,
  encodePayload,
  findCodec,
} from '../payloads/codecs.ts';
import { StreamedTurn, abortTurn } from '../streams/streamed-turn.ts';
import { mustGetTurn } from './read-turns.ts';
import { LazyTurn, PageBytes, viewTurn, type Turn } from '../turn.ts';

type AppendVerbs = Pick<Contexts, 'append' | 'appendBatch' | 'open' | 'resume' | 'abort'>;

export function appendVerbs({ engine, lifetime, rules }: ContextsParts): AppendVerbs {
  const streaming = { engine, lifetime, maxPayloadBytes: rules.maxPayloadBytes };

  async function appendAll(
    context: ContextId,
    turns: readonly PreparedTurn[],
    options: AppendOptions,
  ): Promise<Turn[]> {
    const batch = planAppend(context, turns, checkPlan(options));
    const committed = await engine.commit({ ...checkKept(options), ...batch });
    const page = new PageBytes(turns.map(({ payload }) => payload.bytes));
    return committed.turns.map(
      (row, index) => new LazyTurn(viewTurn(row, undefined), { payload: { page, index } }),
    );
  }

  return {
    // This does not call `appendAll`: each further promise is a hundredth of the time of an append among many.
    async append(id, turn, options = {}) {
      const prepared = prepareTurn(turn, rules);
      if ((turn as BatchTurn).idempotencyKey !== undefined) {
        throw invalid('idempotencyKey', 'of a single turn goes into the options');
      }
      const batch = planAppend(toContextId(id), [prepared], checkPlan(options));
      const { turns } = await engine.commit(
        options.keepHead === undefined ? batch : { ...checkKept(options), ...batch },
      );
      const page = new PageBytes([prepared.payload.bytes]);
      return new LazyTurn(viewTurn(only(turns), undefined), { payload: { page, index: 0 } });
    },

    async appendBatch(id, turns, options = {}) {
      const prepared = prepareBatch(turns, options, rules);
      try {
        return await appendAll(toContextId(id), prepared, options);
      } catch (error) {
        throw nameRoot(error, prepared);
      }
    },

    async open(id, turn, options = {}) {
      const context = toContextId(id);
      const { fsRoot, ...header } = checkHeader(turn);
      const encoding = streamEncoding(turn);
      const placement = checkPlacement(options);
      const root = fsRoot === undefined ? {} : { fsRoot };
      const opens = [{ context, ...placement, ...header, ...root, encoding }];
      return new StreamedTurn(only((await engine.commit({ opens })).opened), 0, streaming);
    },

    async resume(turn) {
      const row = await mustGetTurn(engine, toTurnId(turn));
      const open = await engine.getOpenTurn(row.id);
      if (open === undefined) throw invalid('turn', `${row.id} is not open; it is sealed already`);
      return new StreamedTurn(open.row, open.bytes.length, streaming);
    },

    async abort(turn, reason) {
      return abortTurn(engine, toTurnId(turn), reason);
    },
  };
}

interface TurnHeader {
  readonly type: string;
  readonly version: number;
  readonly fsRoot: Hash | undefined;
}

export interface PreparedTurn extends TurnHeader {
  readonly payload: EncodedPayload;
  readonly key?: string;
}

export interface AppendPlan {
  readonly parent?: TurnId | undefined;
  readonly expectedHead?: TurnId | undefined;
  readonly key: string | undefined;
}

/** The turn goes onto the turn before it. */
const NOWHERE: Omit<AppendPlan, 'key'> = {};

/**
 * Trusts its input. Makes one batch, so payloads, turns and head become true together or not at all. The first turn
 * goes where `plan` says, each later one onto the one before.
 */
export function planAppend(
  context: ContextId,
  turns: readonly PreparedTurn[],
  plan: AppendPlan,
): Batch {
  const { key } = plan;
  const batch = {
    blobs: toBlobs(turns),
    turns: turns.map((turn, index) => toAppend(context, turn, index === 0 ? plan : NOWHERE)),
  };
  return key === undefined ? batch : { idempotency: { context, key }, ...batch };
}

/** Puts each payload once. */
function toBlobs(turns: readonly PreparedTurn[]): BlobPut[] {
  const puts = turns.map(({ payload: { hash, bytes } }) => ({ hash, bytes }));
  return puts.length === 1 ? puts : [...new Map(puts.map((put) => [put.hash, put])).values()];
}

/** Most turns have none of the optional fields, and objects of one shape are faster to read later. */
function toAppend(
  context: ContextId,
  { type, version, fsRoot, payload, key }: PreparedTurn,
  { parent, expectedHead }: Omit<AppendPlan, 'key'>,
): TurnAppend {
  const { encoding, hash, bytes } = payload;
  const append = { context, type, version, encoding, payload: hash, size: bytes.length };
  const isOnHead = parent === undefined && expectedHead === undefined;
  if (isOnHead && fsRoot === undefined && key === undefined) return append;
  return {
    ...append,
    ...(key !== undefined && { key }),
    ...(parent !== undefined && { parent }),
    ...(expectedHead !== undefined && { expectedHead }),
    ...(fsRoot !== undefined && { fsRoot }),
  };
}

function checkPlan(options: AppendOptions): AppendPlan {
  const { parent, expectedHead } = checkPlacement(options);
  return { parent, expectedHead, key: checkKey(options) };
}

/** Checks and encodes turns. Either all of them have a key of their own then, or none. */
function prepareBatch(
  turns: readonly BatchTurn[],
  options: AppendOptions,
  rules: PayloadRules,
): PreparedTurn[] {
  if (!Array.isArray(turns) || turns.length < 1 || turns.length > BATCH_TURNS_MAX) {
    throw invalid('turns', `must be an array of 1 to ${BATCH_TURNS_MAX} turns`);
  }
  const hasKeys = turns.some((turn: BatchTurn | null) => turn?.idempotencyKey !== undefined);
  if (hasKeys && options.idempotencyKey !== undefined) {
    throw invalid('idempotencyKey', 'is for the batch or for each of its turns, and not both');
  }
  return turns.map((turn: BatchTurn, index) =>
    namingItem(`turns[${index}]`, () => {
      const prepared = prepareTurn(turn, rules);
      return hasKeys ? { ...prepared, key: checkOwnKey(turn) } : prepared;
    }),
  );
}

function checkOwnKey(turn: BatchTurn): string {
  const key = checkKey(turn);
  if (key !== undefined) return key;
  throw invalid('idempotencyKey', 'is missing; give all turns of a batch their own, or none');
}

function prepareTurn(turn: NewTurn, rules: PayloadRules): PreparedTurn {
  const { type, version, fsRoot } = checkHeader(turn);
  return { type, version, fsRoot, payload: encodePayload(turn.payload, turn.encoding, rules) };
}

/** The error names a missing file-system root only by its hash: this adds the first turn that has it. */
function nameRoot(error: unknown, turns: readonly PreparedTurn[]): unknown {
  if (!isQuipuError(error, 'NOT_FOUND')) return error;
  const index = turns.findIndex(({ fsRoot }) => fsRoot === error.data.id);
  return index === -1 ? error : nameItem(`turns[${index}]`, error);
}

function checkHeader(turn: NewTurnHeader): TurnHeader {
  if (typeof turn !== 'object' || turn === null) {
    throw invalid('turn', `must be an object with a type, got ${kindOf(turn)}`);
  }
  const { type, version, fsRoot } = turn;
  return {
    type: checkType(type),
    version: checkVersion(version),
    fsRoot: fsRoot === undefined ? undefined : toHash(fsRoot, 'fsRoot'),
  };
}

/** Bytes of the other encodings mean nothing until they are complete. */
function streamEncoding({ encoding = 'text' }: NewTurnHeader): number {
  const { name } = findCodec(encoding);
  if (name === 'text' || name === 'bytes') return Encoding[name];
  throw invalid('encoding', `of an open turn is 'text' or 'bytes', got '${name}'`);
}

/** Runs the check of one item of a list. Its error then names the item. */
function namingItem<T>(item: string, check: () => T): T {
  try {
    return check();
  } catch (error) {
    throw nameItem(item, error);
  }
}

/** Returns the same error about `item`, as in "turns[3]: type has a control character". */
function nameItem(item: string, error: unknown): unknown {
  if (!isQuipuError(error)) return error;
  const message = `${item}: ${error.message}`;
  const data =
    isQuipuError(error, 'INVALID') || isQuipuError(error, 'TOO_LARGE')
      ? { ...error.data, what: whatIn(item, error.data.what) }
      : error.data;
  return new QuipuError(error.code, message, data, { cause: error });
}

function whatIn(item: string, what: string): string {
  return what === 'turn' ? item : `${item}.${what}`;
}
