import type { TurnId } from '../../base/brand.ts';
import { only } from '../../base/check-value.ts';
import { DeltaWriter } from '../../base/delta-writer.ts';
import { QuipuError, invalid } from '../../base/errors.ts';
import type { Lifetime } from '../../base/lifetime.ts';
import { assertWellFormed, checkBounded, decodeUtf8, encodeUtf8, kindOf } from '../../base/text.ts';
import type { Engine } from '../../engine/engine.ts';
import type { TurnRow } from '../../engine/rows.ts';
import { Encoding } from '../../format/turn-record.ts';
import { REASON_BYTES_MAX } from '../limits.ts';
import { assertPayloadFits } from '../payloads/codecs.ts';
import { LazyTurn, PageBytes, viewTurn, type Turn } from '../turn.ts';
import type { OpenTurn } from '../contexts.ts';
import { planAbort, planSeal } from './plan-seal.ts';

export interface StreamedTurnParts {
  readonly engine: Engine;
  readonly lifetime: Lifetime;
  readonly maxPayloadBytes: number;
}

interface Ending {
  readonly how: 'seal' | 'abort';
  readonly turn: Promise<Turn>;
}

/** The handle on an open turn. When the store closes, the written bytes are sent first. */
export class StreamedTurn implements OpenTurn {
  readonly id: TurnId;
  readonly #parts: StreamedTurnParts;
  readonly #writer: DeltaWriter;
  /** Set by the first write: a handle that only ends a turn holds nothing for the close of the store. */
  #forgetClose: (() => void) | undefined;
  /** The first half of a character, when a string was cut in the middle of it. */
  #half = '';
  #ending: Ending | undefined;

  constructor(row: TurnRow, acknowledgedBytes: number, parts: StreamedTurnParts) {
    this.id = row.id;
    this.#parts = parts;
    this.#writer = new DeltaWriter(async (offset, bytes) => {
      await parts.engine.commit({ deltas: [{ turn: row.id, offset, bytes }] });
    }, acknowledgedBytes);
  }

  get acknowledgedBytes(): number {
    return this.#writer.acknowledged;
  }

  toJSON(): { id: string; acknowledgedBytes: number } {
    return { id: String(this.id), acknowledgedBytes: this.acknowledgedBytes };
  }

  write(piece: string | Uint8Array): Promise<void> {
    try {
      this.#parts.lifetime.assertOpen('openTurn.write');
      if (this.#ending !== undefined) throw this.#over('write');
      const { bytes, half } = this.#toBytes(piece);
      assertPayloadFits(this.#writer.length + bytes.length, this.#parts.maxPayloadBytes);
      this.#half = half;
      this.#forgetClose ??= this.#parts.lifetime.onClose(() => this.#writer.flush());
      return this.#writer.push(bytes);
    } catch (error) {
      return Promise.reject(error as Error);
    }
  }

  async flush(): Promise<void> {
    this.#parts.lifetime.assertOpen('openTurn.flush');
    await this.#writer.flush();
  }

  seal(): Promise<Turn> {
    return this.#end('seal', async () => {
      if (this.#half !== '') throw invalid('text', 'ends in the middle of a character');
      await this.#writer.flush();
      const { engine } = this.#parts;
      const open = await engine.getOpenTurn(this.id);
      if (open === undefined) throw invalid('turn', `${this.id} is not open any more`);
      if (open.row.encoding === Encoding.text) assertText(open.bytes);
      const { sealed } = await engine.commit(planSeal(this.id, open.bytes));
      return toTurn(only(sealed), open.bytes);
    });
  }

  abort(reason: string): Promise<Turn> {
    return this.#end('abort', async () => {
      try {
        await this.#writer.flush();
      } catch {
        // The callers of `write` were told. Acknowledged bytes are kept, and the turn still has to end.
      }
      return abortTurn(this.#parts.engine, this.id, reason);
    });
  }

  /** Runs one ending at a time. If an ending fails, the turn stays open, and another may be tried. */
  async #end(how: Ending['how'], end: () => Promise<Turn>): Promise<Turn> {
    this.#parts.lifetime.assertOpen(`openTurn.${how}`);
    if (this.#ending !== undefined) {
      if (this.#ending.how !== how) throw this.#over(how);
      return this.#ending.turn;
    }
    this.#ending = { how, turn: end() };
    try {
      const turn = await this.#ending.turn;
      this.#forgetClose?.();
      return turn;
    } catch (error) {
      this.#ending = undefined;
      throw error;
    }
  }

  #toBytes(piece: string | Uint8Array): { bytes: Uint8Array; half: string } {
    if (piece instanceof Uint8Array) {
      if (this.#half !== '')
        throw invalid('text', 'before these bytes ends in the middle of a character');
      return { bytes: new Uint8Array(piece), half: '' };
    }
    if (typeof piece !== 'string') {
      throw invalid('piece', `must be a string or a Uint8Array, got ${kindOf(piece)}`);
    }
    const text = this.#half + piece;
    const half = /[\uD800-\uDBFF]$/.exec(text)?.[0] ?? '';
    const whole = text.slice(0, text.length - half.length);
    assertWellFormed(whole, 'piece');
    return { bytes: encodeUtf8(whole), half };
  }

  #over(call: string): QuipuError<'INVALID'> {
    return invalid('turn', `${this.id} is sealed or being sealed; it takes no ${call}`);
  }
}

/** Ends a turn at whatever length it has, whichever handle writes it. */
export async function abortTurn(engine: Engine, turn: TurnId, reason: string): Promise<Turn> {
  checkBounded(reason, 'reason', REASON_BYTES_MAX);
  const row = only((await engine.commit(planAbort(turn, reason))).sealed);
  const bytes = row.payload && (await engine.getBlob(row.payload));
  return toTurn(row, bytes || undefined, reason);
}

function toTurn(row: TurnRow, bytes: Uint8Array | undefined, reason?: string): Turn {
  const payload = bytes && { page: new PageBytes([bytes]), index: 0 };
  return new LazyTurn(viewTurn(row, undefined), { payload, reason });
}

function assertText(bytes: Uint8Array): void {
  try {
    decodeUtf8(bytes);
  } catch (error) {
    const message = 'the text is not valid UTF-8; the turn stays open';
    throw new QuipuError('INVALID', message, { what: 'text' }, { cause: error });
  }
}
