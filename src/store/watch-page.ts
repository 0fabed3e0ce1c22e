import type { ContextId, TurnId } from '../base/brand.ts';
import { isQuipuError, invalid } from '../base/errors.ts';
import type { Engine, Tips } from '../engine/engine.ts';
import type { ContextRow, PatchRow, TurnRow } from '../engine/rows.ts';

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

/** Records read at a time, and so held for one reader. */
export const PAGE_RECORDS = 1000;
/** Contexts read at a time. Fewer, because the details of a context may take 64 KiB. */
export const PAGE_CONTEXTS = 100;

/** A record that is to be reported. */
export type Due =
  | { readonly what: 'context'; readonly id: ContextId }
  /** `sealed`: the turn was reported as opened. */
  | { readonly what: 'turn'; readonly id: TurnId; readonly sealed: boolean }
  | { readonly what: 'patch'; readonly id: number };

/** A record as it was read. Undefined for one that is not there. */
type ReadRecord = ContextRow | TurnRow | PatchRow | 'damaged' | undefined;

/**
 * The next records up to `now`. Contexts come before their turns, the end of a turn before the turns appended after it,
 * and a turn before its patches.
 */
export function planPage(position: WatchPosition, now: Tips): Due[] {
  const due: Due[] = [];
  const last = position.context + BigInt(PAGE_CONTEXTS);
  for (let id = position.context + 1n; id <= now.context; id += 1n) {
    if (id > last) return due;
    due.push({ what: 'context', id: id as ContextId });
  }
  const stillOpen = new Set(now.open);
  for (const id of position.open) {
    if (!stillOpen.has(id)) due.push({ what: 'turn', id, sealed: true });
  }
  for (let id = position.turn + 1n; id <= now.turn; id += 1n) {
    if (due.length >= PAGE_RECORDS) return due;
    due.push({ what: 'turn', id: id as TurnId, sealed: false });
  }
  for (let id = position.patch + 1; id <= now.patch && due.length < PAGE_RECORDS; id += 1) {
    due.push({ what: 'patch', id });
  }
  return due;
}

/**
 * Reads all records, in this order, with one request. A damaged record holds up neither later records nor the reader: it
 * is found by halving.
 */
export async function readRecords(engine: Engine, due: readonly Due[]): Promise<ReadRecord[]> {
  if (due.length === 0) return [];
  try {
    const found = await engine.getMany({
      contexts: due.flatMap((one) => (one.what === 'context' ? [one.id] : [])),
      turns: due.flatMap((one) => (one.what === 'turn' ? [one.id] : [])),
      patches: due.flatMap((one) => (one.what === 'patch' ? [one.id] : [])),
    });
    const rows = {
      context: new Map<Due['id'], ReadRecord>(found.contexts.map((row) => [row.id, row])),
      turn: new Map<Due['id'], ReadRecord>(found.turns.map((row) => [row.id, row])),
      patch: new Map<Due['id'], ReadRecord>(found.patches.map((row) => [row.seq, row])),
    };
    return due.map(({ what, id }) => rows[what].get(id));
  } catch (error) {
    if (!isQuipuError(error, 'CORRUPT')) throw error;
    if (due.length === 1) return ['damaged'];
    const half = Math.ceil(due.length / 2);
    return [
      ...(await readRecords(engine, due.slice(0, half))),
      ...(await readRecords(engine, due.slice(half))),
    ];
  }
}
