import type { Hash, TurnId } from '../../base/brand.ts';
import type { EncodedPayload } from '../../context/payloads/codecs.ts';
import { type PreparedTurn, planAppend } from '../../context/turns/append-verbs.ts';
import type { Batch, Committed } from '../../engine/batch.ts';
import type { Engine } from '../../engine/engine.ts';
import type { TurnRow } from '../../engine/rows.ts';
import { decodeAppendTurn, encodeAck, encodeRowAck } from '../../wire/append-turn.ts';
import { decodeAppendBatch, encodeBatchAck } from '../../wire/cxdb/messages.ts';
import type { AppendBatch, BatchItem } from '../../wire/cxdb/messages.ts';
import { openTurn } from '../cxdb/open-turns.ts';
import type { Job, Plan, Reply } from '../request/request.ts';
import {
  isLarge,
  takeLargePayload,
  takePayload,
  asMissing,
  contextOf,
  keyText,
  placeOf,
} from '../request/take-input.ts';

type Item = Pick<BatchItem, 'turn' | 'fsRoot'>;

/** The place of the first item. Both kinds of request state it in the same way. */
type Placing = Pick<AppendBatch, 'context' | 'parent' | 'key' | 'expectHead'>;

/** The parts in which the two kinds of request differ. */
interface Kind {
  /** The name of the item in an error. */
  readonly where: (index: number) => string;
  readonly reply: (committed: Committed) => Reply;
  /** Throws the error that the client is told; undefined: the client is told the engine's error. */
  readonly fail?: (error: unknown) => never;
}

const ONE_TURN: Kind = { where: () => 'turn', reply: replyOne, fail: failParent };
const ONE_ROW: Kind = { where: () => 'turn', reply: replyRow };
const MANY_TURNS: Kind = { where: (index) => `item ${index}`, reply: replyAll, fail: failParent };

export const appendTurn: Plan = (engine, { payload, flags }, session) => {
  const append = decodeAppendTurn(payload, flags);
  if (append.open) return openTurn(engine, append, session);
  return planJob(engine, append, [append], append.wantRow ? ONE_ROW : ONE_TURN);
};

export const appendBatch: Plan = (engine, { payload, flags }) => {
  const append = decodeAppendBatch(payload, flags);
  return planJob(engine, append, append.items, MANY_TURNS);
};

function planJob(engine: Engine, placing: Placing, items: readonly Item[], kind: Kind): Job {
  const context = contextOf(placing.context);
  const { parent, expectedHead } = placeOf(placing);
  const key = placing.key === undefined ? undefined : keyText(placing.key);
  const plan = { parent, expectedHead, key };
  const { where } = kind;

  if (items.some(({ turn }) => isLarge(turn.rawLength))) {
    const run = async (): Promise<Reply> => {
      const turns: PreparedTurn[] = [];
      for (const [at, item] of items.entries()) {
        turns.push(prepare(item, await takeLargePayload(item.turn, where(at))));
      }
      return commit(engine, planAppend(context, turns, plan), kind);
    };
    return { order: 'barrier', run };
  }
  const turns = items.map((item, at) => prepare(item, takePayload(item.turn, where(at))));
  const batch = planAppend(context, turns, plan);
  return { order: 'write', run: () => commit(engine, batch, kind) };
}

function commit(engine: Engine, batch: Batch, { reply, fail }: Kind): Promise<Reply> {
  return engine.commit(batch).then(reply, fail);
}

function prepare({ turn, fsRoot }: Item, payload: EncodedPayload): PreparedTurn {
  const { type, version } = turn;
  return { type, version, fsRoot, payload };
}

function failParent(error: unknown): never {
  throw asMissing(error, 'parent turn');
}

function onlyRow({ turns }: Committed): TurnRow {
  const row = turns[0];
  if (row === undefined) throw new Error('a turn was stored and is not there');
  return row;
}

function replyOne(committed: Committed): Reply {
  const { context, id: turn, depth, payload: hash } = onlyRow(committed);
  return { parts: encodeAck({ context, turn, depth, hash }) };
}

function replyRow(committed: Committed): Reply {
  const row = onlyRow(committed);
  const parts = encodeRowAck({
    context: row.context,
    turn: row.id,
    depth: row.depth,
    hash: storedHash(row.id, row.payload),
    seq: committed.seq,
    replayed: committed.replayed,
    parent: row.parent,
    createdAt: row.createdAt,
    turnFlags: row.flags,
    version: row.version,
    encoding: row.encoding,
    size: row.size,
    type: row.type,
  });
  return { parts };
}

function replyAll({ turns }: Committed): Reply {
  const [first] = turns;
  if (first === undefined) throw new Error('turns were stored and are not there');
  const parts = encodeBatchAck({
    context: first.context,
    turns: turns.map(({ id, depth, payload }) => ({ id, depth, hash: storedHash(id, payload) })),
  });
  return { parts };
}

function storedHash(id: TurnId, payload: Hash | undefined): Hash {
  if (payload === undefined) throw new Error(`turn ${id} was stored without a payload`);
  return payload;
}
