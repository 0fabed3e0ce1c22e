import type { TurnId } from '../../base/brand.ts';
import { isQuipuError } from '../../base/errors.ts';
import type { Lifetime } from '../../base/lifetime.ts';
import { OneAtATime } from '../../base/one-at-a-time.ts';
import { ChangeBell } from '../../engine/change-bell.ts';
import type { Engine } from '../../engine/engine.ts';
import type { CheckedRead } from '../check-input.ts';
import type { Turn } from '../turn.ts';
import { mustGetTurn, readTurn } from '../turns/read-turns.ts';
import type { TurnDelta } from '../../engine/batch.ts';

// The price of a reader that takes its time:
// - It holds a piece, and a tail of deltas that all readers share. A turn that was read as a whole is held weakly, and
//   read again if its memory was needed.
// - Readers that need the same turn as a whole share the read.

const TAIL_BYTES_MAX = 1_048_576;
const PIECE_BYTES_MAX = 32_768;
const READ: CheckedRead = { payload: true, as: 'original', maxBytes: 0 };

interface OpenTurnPlan {
  readonly id: TurnId;
  /** Begin after this many bytes. */
  readonly after: number;
  readonly signal: AbortSignal | undefined;
}

/** Bytes that are known, up to `end`. */
interface Known {
  readonly end: number;
  /** True when there will be no more. */
  readonly sealed: boolean;
  /** Returns a copy of the bytes from this position on, as many as a reader is given at a time. */
  piece(from: number): Uint8Array | Promise<Uint8Array>;
}

export class OpenTurnFollower {
  readonly #parts: { readonly engine: Engine; readonly lifetime: Lifetime };
  readonly #reads = new OneAtATime<TurnId>();
  /** Reads that have not begun. Whoever joins one sees all that is there now. */
  readonly #next = new Map<TurnId, Promise<Turn | undefined>>();

  constructor(parts: { readonly engine: Engine; readonly lifetime: Lifetime }) {
    this.#parts = parts;
  }

  /** Yields the bytes of a turn as they become durable. A sealed turn gives its payload and ends. */
  async *follow({ id, after, signal }: OpenTurnPlan): AsyncGenerator<Uint8Array, void, undefined> {
    const { engine, lifetime } = this.#parts;
    const tail = new DeltaTail(TAIL_BYTES_MAX);
    using bell = new ChangeBell(this.#parts, {
      hear({ deltas, sealed }) {
        const own = deltas.filter((delta) => delta.turn === id);
        for (const delta of own) tail.add(delta);
        const isSealed = sealed.some((row) => row.id === id);
        if (isSealed) tail.drop();
        return isSealed || own.length > 0;
      },
      miss: () => tail.drop(),
      signal,
    });
    try {
      await mustGetTurn(engine, id);
      for (let sent = after; !bell.isOver; await bell.wait()) {
        const known = await this.#look(id, sent, tail);
        while (sent < known.end && !bell.isOver) {
          const piece = await known.piece(sent);
          // The turn was erased meanwhile.
          if (piece.length === 0) return;
          sent += piece.length;
          yield piece;
        }
        if (known.sealed) return;
      }
    } catch (error) {
      if (!(lifetime.closed && isQuipuError(error, 'CLOSED'))) throw error;
    }
  }

  async #look(id: TurnId, sent: number, tail: DeltaTail): Promise<Known> {
    const deltas = tail.take();
    const fresh = deltas && bytesAfter(sent, deltas);
    if (fresh !== undefined) {
      const piece = (from: number): Uint8Array => pieceOf(fresh, from - sent);
      return { end: sent + fresh.length, sealed: false, piece };
    }
    const turn = await this.#read(id);
    const whole = { held: turn && new WeakRef(turn) };
    return {
      end: turn?.bytes?.length ?? 0,
      sealed: turn?.state !== 'open',
      piece: async (from) => {
        const again = whole.held?.deref() ?? (await this.#read(id));
        whole.held = again && new WeakRef(again);
        return pieceOf(again?.bytes, from);
      },
    };
  }

  #read(id: TurnId): Promise<Turn | undefined> {
    const waiting = this.#next.get(id);
    if (waiting !== undefined) return waiting;
    const read = this.#reads.run(id, () => {
      this.#next.delete(id);
      return readTurn(this.#parts.engine, id, READ);
    });
    this.#next.set(id, read);
    return read;
  }
}

function pieceOf(bytes: Uint8Array = new Uint8Array(), from: number): Uint8Array {
  return bytes.slice(from, from + PIECE_BYTES_MAX);
}

/**
 * Deltas waiting for one reader, up to a number of bytes. Beyond that they are dropped, and the reader is told to read
 * the turn instead. So a slow reader costs no more than that.
 */
export class DeltaTail {
  readonly #maxBytes: number;
  #deltas: TurnDelta[] = [];
  #bytes = 0;
  #mustRead = true;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  add(delta: TurnDelta): void {
    if (this.#mustRead) return;
    this.#deltas.push(delta);
    this.#bytes += delta.bytes.length;
    if (this.#bytes > this.#maxBytes) this.drop();
  }

  /** The reader must read the turn itself, because deltas were too many or because the turn was sealed. */
  drop(): void {
    this.#deltas = [];
    this.#bytes = 0;
    this.#mustRead = true;
  }

  /** Returns the deltas since the last call; undefined when the turn must be read, as it must the first time. */
  take(): readonly TurnDelta[] | undefined {
    const taken = this.#mustRead ? undefined : this.#deltas;
    this.#deltas = [];
    this.#bytes = 0;
    this.#mustRead = false;
    return taken;
  }
}

/** Returns the bytes of `deltas` that come after the first `have` bytes of the turn; undefined for a gap. */
export function bytesAfter(have: number, deltas: readonly TurnDelta[]): Uint8Array | undefined {
  const fresh: Uint8Array[] = [];
  let end = have;
  for (const { offset, bytes } of deltas) {
    if (offset > end) return undefined;
    if (offset + bytes.length <= end) continue;
    fresh.push(bytes.subarray(end - offset));
    end = offset + bytes.length;
  }
  return new Uint8Array(Buffer.concat(fresh));
}
