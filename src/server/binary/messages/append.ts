import type { ContextId, Hash, TurnId } from '../../../base/brand.ts';
import type { Batch, BlobPut, Committed, TurnAppend } from '../../../engine/batch.ts';
import type { Engine } from '../../../engine/engine.ts';
import type { TurnRow } from '../../../engine/rows.ts';
import { encodeAck } from '../../../wire/ack.ts';
import { decodeAppendBatch, encodeBatchAck } from '../../../wire/append-batch.ts';
import type { AppendBatch, BatchItem } from '../../../wire/append-batch.ts';
import { decodeAppendTurn } from '../../../wire/append-turn.ts';
import type { Parts } from '../../../wire/byte-writer.ts';
import { encodeRowAck } from '../../../wire/row-ack.ts';
import type { Job, MessageHandler, Reply, Request } from '../request.ts';
import type { Session } from '../session.ts';
import { openTurn } from './open-turns.ts';
import { placeOf } from './place-of.ts';
import { isLarge, takeLargePayload, takePayload } from './take-payload.ts';
import { asMissing, contextOf } from './wire-ids.ts';
import { keyText } from './wire-key.ts';

type Item = Pick<BatchItem, 'turn' | 'fsRoot'>;

/** Where the first item goes: what both kinds of request say alike. */
type Placing = Pick<AppendBatch, 'context' | 'parent' | 'key' | 'expectHead'>;

/** What they do not. */
interface Kind {
  /** What an error calls the item. */
  readonly where: (index: number) => string;
  readonly ack: (committed: Committed) => Parts;
  /** What an error says is missing when it is the turn to append to; undefined: as the engine says it. */
  readonly parent?: string;
}

const ONE_TURN: Kind = { where: () => 'turn', ack: ackOne, parent: 'parent turn' };
const ONE_ROW: Kind = { where: () => 'turn', ack: ackRow };
const MANY_TURNS: Kind = {
  where: (index) => `item ${index}`,
  ack: ackAll,
  parent: 'parent turn',
};

export function appendTurn(engine: Engine): MessageHandler {
  return {
    name: 'APPEND_TURN',
    needs: 'write',
    plan({ payload, flags }: Request, session: Session): Job {
      const append = decodeAppendTurn(payload, flags);
      if (append.open) return openTurn(engine, append, session);
      return planAppend(engine, append, [append], append.wantRow ? ONE_ROW : ONE_TURN);
    },
  };
}

export function appendBatch(engine: Engine): MessageHandler {
  return {
    name: 'APPEND_BATCH',
    needs: 'write',
    plan({ payload, flags }: Request): Job {
      const append = decodeAppendBatch(payload, flags);
      return planAppend(engine, append, append.items, MANY_TURNS);
    },
  };
}

function planAppend(
  engine: Engine,
  placing: Placing,
  items: readonly Item[],
  { where, ack, parent }: Kind,
): Job {
  const placed = { context: contextOf(placing.context), place: placeOf(placing), key: placing.key };

  async function commit(blobs: readonly BlobPut[]): Promise<Reply> {
    try {
      return { parts: ack(await engine.commit(toBatch(placed, items, blobs))) };
    } catch (error) {
      throw parent === undefined ? error : asMissing(error, parent);
    }
  }

  if (items.some(({ turn }) => isLarge(turn.rawLength))) {
    const run = async (): Promise<Reply> => {
      const blobs: BlobPut[] = [];
      for (const [index, { turn }] of items.entries()) {
        blobs.push(await takeLargePayload(turn, where(index)));
      }
      return commit(blobs);
    };
    return { order: 'barrier', run };
  }
  const blobs = items.map(({ turn }, index) => takePayload(turn, where(index)));
  return { order: 'write', run: () => commit(blobs) };
}

interface Placed {
  readonly context: ContextId;
  readonly place: Pick<TurnAppend, 'parent' | 'expectedHead'>;
  readonly key: Uint8Array | undefined;
}

function toBatch(
  { context, place, key }: Placed,
  items: readonly Item[],
  blobs: readonly BlobPut[],
): Batch {
  const turns = items.map(({ turn, fsRoot }, index): TurnAppend => {
    const { type, version, encoding, hash: payload, rawLength: size } = turn;
    const append = { context, type, version, encoding, payload, size };
    if (index > 0 && fsRoot === undefined) return append;
    return { ...append, ...(index === 0 && place), ...(fsRoot !== undefined && { fsRoot }) };
  });
  return key === undefined
    ? { blobs, turns }
    : { idempotency: { context, key: keyText(key) }, blobs, turns };
}

function onlyRow({ turns: [row] }: Committed): TurnRow {
  if (row === undefined) throw new Error('a turn was stored and is not there');
  return row;
}

function ackOne(committed: Committed): Parts {
  const row = onlyRow(committed);
  return encodeAck({ context: row.context, turn: row.id, depth: row.depth, hash: row.payload });
}

function ackRow(committed: Committed): Parts {
  const row = onlyRow(committed);
  return encodeRowAck({
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
}

function ackAll({ turns }: Committed): Parts {
  const [first] = turns;
  if (first === undefined) throw new Error('turns were stored and are not there');
  return encodeBatchAck({
    context: first.context,
    turns: turns.map(({ id, depth, payload }) => ({ id, depth, hash: storedHash(id, payload) })),
  });
}

function storedHash(id: TurnId, payload: Hash | undefined): Hash {
  if (payload === undefined) throw new Error(`turn ${id} was stored without a payload`);
  return payload;
}
