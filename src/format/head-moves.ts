import type { ContextId, TurnId } from '../base/brand.ts';
import { canonicalJson } from '../base/canonical-json.ts';

// The document that remembers where the head of a context was moved, and what it left. docs/format/docs-and-logs.md

/** The heads that a context remembers to have left. */
export const LEFT_HEADS_MAX = 16;
const FOLDER = 'head-moves/';

/** A head that was moved without a new turn. It counts until a turn with a higher id than `after` is appended. */
export interface HeadMove {
  readonly to: TurnId;
  /** The newest turn of the store when the head was moved. */
  readonly after: TurnId;
}

export interface LeftHead {
  readonly turn: TurnId;
  /** Milliseconds since 1970. */
  readonly leftAt: number;
}

export interface HeadMoves {
  readonly move: HeadMove;
  /** The newest first. */
  readonly left: readonly LeftHead[];
}

export const HEAD_MOVES_PREFIX: string = FOLDER;

export function headMovesName(context: ContextId | number): string {
  return `${FOLDER}${context}.json`;
}

/** The context whose moves the document of this name remembers. */
export function contextOfMoves(name: string): number | undefined {
  const digits = /^head-moves\/(\d+)\.json$/.exec(name)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

export function encodeHeadMoves({ move, left }: HeadMoves): string {
  return canonicalJson({
    after: String(move.after),
    left: left.map(({ turn, leftAt }) => ({ leftAt, turn: String(turn) })),
    to: String(move.to),
  });
}

/** Undefined for a text that is not from such a document. */
export function decodeHeadMoves(text: string): HeadMoves | undefined {
  const found = parse(text);
  if (!isId(found.to) || !isId(found.after) || !Array.isArray(found.left)) return undefined;
  const left: LeftHead[] = [];
  for (const one of found.left as unknown[]) {
    const { turn, leftAt } = { ...(one as { turn?: unknown; leftAt?: unknown } | null) };
    if (!isId(turn) || typeof leftAt !== 'number') return undefined;
    left.push({ turn: BigInt(turn) as TurnId, leftAt });
  }
  const move = { to: BigInt(found.to) as TurnId, after: BigInt(found.after) as TurnId };
  return { move, left };
}

function parse(text: string): { to?: unknown; after?: unknown; left?: unknown } {
  try {
    return { ...(JSON.parse(text) as object) };
  } catch {
    // SyntaxError: not such a document.
    return {};
  }
}

function isId(value: unknown): value is string {
  return typeof value === 'string' && /^\d{1,16}$/.test(value);
}

/** The head that a context has by its records: the newest turn of its own or `base`, unless it was moved since. */
export function headByRecords(newest: number, base: number, move: HeadMove | undefined): number {
  if (move !== undefined && Number(move.after) >= newest) return Number(move.to);
  return newest === 0 ? base : newest;
}
