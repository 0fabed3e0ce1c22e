import { Bell } from '../../base/bell.ts';
import type { TurnId } from '../../base/brand.ts';
import { isQuipuError } from '../../base/errors.ts';
import type { Lifetime } from '../../base/lifetime.ts';
import { OneAtATime } from '../../base/one-at-a-time.ts';
import type { Engine } from '../../engine/engine.ts';
import type { CheckedRead } from '../check-input.ts';
import { DeltaTail, bytesAfter } from '../streams/delta-tail.ts';
import type { Turn } from '../turn.ts';
import { mustGetTurn, readTurn } from '../turns/read-turns.ts';

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
  readonly #engine: Engine;
  readonly #lifetime: Lifetime;
  readonly #reads = new OneAtATime<TurnId>();
  /** Reads that have not begun. Whoever joins one sees all that is there now. */
  readonly #next = new Map<TurnId, Promise<Turn | undefined>>();

  constructor(engine: Engine, lifetime: Lifetime) {
    this.#engine = engine;
    this.#lifetime = lifetime;
  }

  /** Yields the bytes of a turn as they become durable. A sealed turn gives its payload and ends. */
  async *follow({ id, after, signal }: OpenTurnPlan): AsyncGenerator<Uint8Array, void, undefined> {
    const bell = new Bell();
    const tail = new DeltaTail(TAIL_BYTES_MAX);
    const isOver = (): boolean => this.#lifetime.closed || signal?.aborted === true;
    const stop = this.#listen(id, { tail, bell, signal });
    try {
      await mustGetTurn(this.#engine, id);
      for (let sent = after; !isOver(); await bell.wait()) {
        const known = await this.#look(id, sent, tail);
        while (sent < known.end && !isOver()) {
          const piece = await known.piece(sent);
          // The turn was erased meanwhile.
          if (piece.length === 0) return;
          sent += piece.length;
          yield piece;
        }
        if (known.sealed) return;
      }
    } catch (error) {
      if (!(this.#lifetime.closed && isQuipuError(error, 'CLOSED'))) throw error;
    } finally {
      stop();
    }
  }

  /** Rings the bell when there may be more, and when it is over. Returns a function that ends it. */
  #listen(id: TurnId, { tail, bell, signal }: Heard): () => void {
    const ring = (): void => bell.ring();
    const stops = [
      this.#engine.subscribe(
        (change) => {
          const deltas = change.deltas.filter((delta) => delta.turn === id);
          for (const delta of deltas) tail.add(delta);
          const sealed = change.sealed.some((row) => row.id === id);
          if (sealed) tail.drop();
          if (sealed || deltas.length > 0) bell.ring();
        },
        () => {
          tail.drop();
          bell.ring();
        },
      ),
      this.#lifetime.onClose(ring),
      () => signal?.removeEventListener('abort', ring),
    ];
    signal?.addEventListener('abort', ring);
    return () => {
      for (const end of stops) end();
    };
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
      return readTurn(this.#engine, id, READ);
    });
    this.#next.set(id, read);
    return read;
  }
}

interface Heard {
  readonly tail: DeltaTail;
  readonly bell: Bell;
  readonly signal: AbortSignal | undefined;
}

function pieceOf(bytes: Uint8Array = new Uint8Array(), from: number): Uint8Array {
  return bytes.slice(from, from + PIECE_BYTES_MAX);
}
