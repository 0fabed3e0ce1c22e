import type { TurnId } from '../base/brand.ts';
import { invalid } from '../base/errors.ts';
import type { Tips } from '../engine/engine.ts';

// The position of a reader. Ids and sequence numbers are handed out one after the other. So the position is the newest
// ones reported, and the turns that were reported as opened and not yet as sealed.
//
// The text form is `1.<turn>.<context>.<patch>.<open>`, numbers in base 36. The open turns are joined by `-`; each but
// the first is the distance from the one before.

const TEXT = /^1\.([0-9a-z]{1,11})\.([0-9a-z]{1,11})\.([0-9a-z]{1,11})\.([0-9a-z-]*)$/;

export class WatchPosition {
  turn: bigint;
  context: bigint;
  patch: number;
  readonly open: Set<TurnId>;

  constructor(tips: Tips) {
    this.turn = tips.turn;
    this.context = tips.context;
    this.patch = tips.patch;
    this.open = new Set(tips.open);
  }

  toString(): string {
    const marks = [this.turn, this.context, this.patch].map((mark) => mark.toString(36));
    return `1.${marks.join('.')}.${openText([...this.open])}`;
  }

  /** Throws INVALID for a text that is no position, and for a position that this store has yet to reach. */
  static parse(text: string, now: Tips): WatchPosition {
    const [, turn, context, patch, open] = TEXT.exec(text) ?? [];
    if (turn === undefined || context === undefined || patch === undefined) {
      throw invalid('after', 'is not the id of an event');
    }
    const position = new WatchPosition({
      turn: toBigInt(turn) as TurnId,
      context: toBigInt(context),
      patch: Number(toBigInt(patch)),
      open: openTurns(open ?? ''),
    });
    const newestOpen = [...position.open].at(-1) ?? 0n;
    if (
      position.turn > now.turn ||
      position.context > now.context ||
      position.patch > now.patch ||
      newestOpen > position.turn
    ) {
      throw invalid('after', 'is ahead of this store: the event came from another store');
    }
    return position;
  }
}

function openText(turns: readonly TurnId[]): string {
  const sorted = turns.toSorted((a, b) => Number(a - b));
  return sorted.map((turn, at) => (turn - (sorted[at - 1] ?? 0n)).toString(36)).join('-');
}

function openTurns(text: string): TurnId[] {
  if (text === '') return [];
  let last = 0n;
  return text.split('-').map((distance) => {
    if (!/^[0-9a-z]{1,11}$/.test(distance)) throw invalid('after', 'is not the id of an event');
    last += toBigInt(distance);
    return last as TurnId;
  });
}

function toBigInt(digits: string): bigint {
  let value = 0n;
  for (const digit of digits) value = value * 36n + BigInt(Number.parseInt(digit, 36));
  return value;
}
