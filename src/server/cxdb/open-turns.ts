import { given } from '../../base/given.ts';
import type { ContextId, TurnId } from '../../base/brand.ts';
import { type QuipuError, invalid, isQuipuError, notFound, tooLarge } from '../../base/errors.ts';
import { hashBytes } from '../../base/hash.ts';
import { REASON_BYTES_MAX } from '../../context/limits.ts';
import { planAbort, planSeal } from '../../context/streams/plan-seal.ts';
import { mustGetTurn } from '../../context/turns/read-turns.ts';
import type { Engine } from '../../engine/engine.ts';
import type { TurnRow } from '../../engine/rows.ts';
import { NO_HASH } from '../../format/patch-record.ts';
import { TurnFlag } from '../../format/turn-record.ts';
import { encodeAck } from '../../wire/append-turn.ts';
import type { AppendTurn } from '../../wire/append-turn.ts';
import type { Parts } from '../../wire/byte-codec.ts';
import { decodeAppendDelta, decodeSeal, encodeDeltaAck } from '../../wire/cxdb/messages.ts';
import type { Seal } from '../../wire/cxdb/messages.ts';
import { RAW_BYTES_MAX } from '../../wire/limits.ts';
import type { Job, Plan, Reply, Session } from '../request/request.ts';
import { takePayload, asMissing, contextOf, placeOf, turnOf } from '../request/take-input.ts';

/** Far above the number of turns that one client streams at a time. */
const TURNS_MAX = 256;

/** Handles APPEND_TURN with OPEN: the payload is the first piece. */
export function openTurn(engine: Engine, append: AppendTurn, session: Session): Job {
  const context = contextOf(append.context);
  const { parent, expectedHead } = placeOf(append);
  // A key stands for a turn that can no longer change.
  if (append.key !== undefined) throw invalid('idempotency_key', 'cannot be used for an open turn');
  const { bytes } = takePayload(append.turn, 'turn');
  const { type, version, encoding } = append.turn;
  const { fsRoot } = append;
  const open = {
    context,
    ...given({ parent, expectedHead }),
    type,
    version,
    encoding,
    ...(fsRoot !== undefined && { fsRoot }),
  };

  async function run(): Promise<Reply> {
    try {
      const [row] = (await engine.commit({ opens: [open] })).opened;
      if (row === undefined) throw new Error('a turn was opened and is not there');
      if (bytes.length > 0) await engine.commit({ deltas: [{ turn: row.id, offset: 0, bytes }] });
      knownTurnsOf(session).set(row.id, { context, length: bytes.length });
      return { parts: ackOf(row) };
    } catch (error) {
      throw asMissing(error, 'parent turn');
    }
  }
  return { order: 'barrier', run };
}

export const appendDelta: Plan = (engine, { payload }, session) => {
  const knownTurns = knownTurnsOf(session);
  const { offset, bytes, ...ids } = decodeAppendDelta(payload);
  const context = contextOf(ids.context);
  const turn = turnOf(ids.turn);
  const end = offset + bytes.length;
  if (end > RAW_BYTES_MAX) {
    const message = `a turn of ${end} bytes is over the limit of ${RAW_BYTES_MAX}`;
    throw tooLarge('open turn', RAW_BYTES_MAX, end, message);
  }

  const known = knownTurns.get(turn);
  if (known?.context === context && known.length === offset) {
    known.length = end;
    const run = async (): Promise<Reply> => {
      try {
        await engine.commit({ deltas: [{ turn, offset, bytes }] });
      } catch (error) {
        // The pieces sent after this one now have a wrong offset. The engine says so for each of them.
        knownTurns.delete(turn);
        throw error;
      }
      return { parts: encodeDeltaAck({ turn, totalLength: end }) };
    };
    return { order: 'write', run };
  }
  // This is the first piece from this connection, or one that repeats bytes. The stored turn says how much it holds.
  const run = async (): Promise<Reply> => {
    await mustBeIn(engine, context, turn);
    await engine.commit({ deltas: [{ turn, offset, bytes }] });
    const { size } = await mustGetTurn(engine, turn);
    knownTurns.set(turn, { context, length: size });
    return { parts: encodeDeltaAck({ turn, totalLength: size }) };
  };
  return { order: 'barrier', run };
};

export const sealTurn: Plan = (engine, { payload }, session) => {
  const knownTurns = knownTurnsOf(session);
  const seal = decodeSeal(payload);
  const context = contextOf(seal.context);
  const turn = turnOf(seal.turn);
  if (Buffer.byteLength(seal.reason) > REASON_BYTES_MAX) {
    throw invalid('SEAL.reason', `has more than ${REASON_BYTES_MAX} bytes`);
  }
  const run = async (): Promise<Reply> => {
    const row = await commitSeal(engine, seal, { context, turn });
    knownTurns.delete(turn);
    return { parts: ackOf(row) };
  };
  return { order: 'barrier', run };
};

async function commitSeal(
  engine: Engine,
  seal: Seal,
  { context, turn }: { readonly context: ContextId; readonly turn: TurnId },
): Promise<TurnRow> {
  await mustBeIn(engine, context, turn);
  const open = await engine.getOpenTurn(turn);
  if (open === undefined) return sameSeal(seal, await mustGetTurn(engine, turn));
  const { length } = open.bytes;
  if (seal.totalLength !== length) throw otherLength(turn, length);
  const hash = hashBytes(open.bytes);
  if (seal.hash !== undefined && seal.hash !== hash) {
    throw invalid('SEAL.content_hash', `is ${seal.hash}, and that of turn ${turn} is ${hash}`);
  }
  const isAborted = seal.outcome === 'aborted';
  const abort = planAbort(turn, seal.reason, { expectedBytes: length });
  try {
    const { sealed } = await engine.commit(isAborted ? abort : planSeal(turn, open.bytes));
    return sealed[0] ?? (await mustGetTurn(engine, turn));
  } catch (error) {
    // Another client wrote to the turn meanwhile.
    if (isQuipuError(error, 'HEAD_MOVED')) throw otherLength(turn, Number(error.data.head));
    throw error;
  }
}

/** Repeating a seal gives the same answer. */
function sameSeal(seal: Seal, row: TurnRow): TurnRow {
  const outcomes = TurnFlag.ABORTED | TurnFlag.INTERRUPTED;
  const isSame =
    (row.flags & outcomes) === (seal.outcome === 'aborted' ? TurnFlag.ABORTED : 0) &&
    row.size === seal.totalLength &&
    // An erased payload has no hash to compare with.
    (seal.hash === undefined || row.payload === NO_HASH || seal.hash === row.payload);
  if (isSame) return row;
  throw invalid('SEAL.turn_id', `names turn ${row.id}, which is sealed already with other content`);
}

async function mustBeIn(engine: Engine, context: ContextId, turn: TurnId): Promise<void> {
  if ((await engine.getHead(context)) === undefined) throw notFound('context', context);
  const row = await engine.getTurn(turn);
  if (row?.context !== context) throw notFound('turn', turn);
}

function ackOf(row: TurnRow): Parts {
  return encodeAck({ context: row.context, turn: row.id, depth: row.depth, hash: row.payload });
}

function otherLength(turn: TurnId, length: number): QuipuError<'INVALID'> {
  return invalid('SEAL.total_len', `does not fit: turn ${turn} has ${length} bytes`);
}

/** The open turns that one connection has written to. The context of each is looked up only once. */
type KnownTurns = Map<TurnId, KnownTurn>;

interface KnownTurn {
  readonly context: ContextId;
  /** The length of the turn once everything that was sent for it is stored. */
  length: number;
}

const KNOWN_TURNS = new WeakMap<Session, KnownTurns>();

function knownTurnsOf(session: Session): KnownTurns {
  let known = KNOWN_TURNS.get(session);
  if (known === undefined) KNOWN_TURNS.set(session, (known = new Map()));
  if (known.size >= TURNS_MAX) known.clear();
  return known;
}
