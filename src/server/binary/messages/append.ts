import type { ContextId } from '../../../base/brand.ts';
import type { Batch, BlobPut, TurnAppend } from '../../../engine/batch.ts';
import type { Engine } from '../../../engine/engine.ts';
import type { TurnRow } from '../../../engine/rows.ts';
import { encodeAck } from '../../../wire/ack.ts';
import { decodeAppendBatch, encodeBatchAck } from '../../../wire/append-batch.ts';
import type { AppendBatch, BatchItem } from '../../../wire/append-batch.ts';
import { decodeAppendTurn } from '../../../wire/append-turn.ts';
import type { Parts } from '../../../wire/byte-writer.ts';
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
  readonly ack: (turns: readonly TurnRow[]) => Parts;
}

const ONE_TURN: Kind = { where: () => 'turn', ack: ackOne };
const MANY_TURNS: Kind = { where: (index) => `item ${index}`, ack: ackAll };

export function appendTurn(engine: Engine): MessageHandler {
  return {
    name: 'APPEND_TURN',
    needs: 'write',
    plan({ payload, flags }: Request, session: Session): Job {
      const append = decodeAppendTurn(payload, flags);
      if (append.open) return openTurn(engine, append, session);
      return planAppend(engine, append, [append], ONE_TURN);
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
  { where, ack }: Kind,
): Job {
  const placed = { context: contextOf(placing.context), place: placeOf(placing), key: placing.key };

  async function commit(blobs: readonly BlobPut[]): Promise<Reply> {
    try {
      const { turns } = await engine.commit(toBatch(placed, items, blobs));
      return { parts: ack(turns) };
    } catch (error) {
      throw asMissing(error, 'parent turn');
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
  const turns = items.map(({ turn, fsRoot }, index): TurnAppend => ({
    context,
    ...(index === 0 && place),
    type: turn.type,
    version: turn.version,
    encoding: turn.encoding,
    payload: turn.hash,
    size: turn.rawLength,
    ...(fsRoot !== undefined && { fsRoot }),
  }));
  return key === undefined
    ? { blobs, turns }
    : { idempotency: { context, key: keyText(key) }, blobs, turns };
}

function ackOne(turns: readonly TurnRow[]): Parts {
  const [row] = turns;
  if (row === undefined) throw new Error('a turn was stored and is not there');
  return encodeAck({ context: row.context, turn: row.id, depth: row.depth, hash: row.payload });
}

function ackAll(turns: readonly TurnRow[]): Parts {
  const [first] = turns;
  if (first === undefined) throw new Error('turns were stored and are not there');
  return encodeBatchAck({
    context: first.context,
    turns: turns.map(({ id, depth, payload }) => {
      if (payload === undefined) throw new Error(`turn ${id} was stored without a payload`);
      return { id, depth, hash: payload };
    }),
  });
}
