import type { Engine } from '../../engine/engine.ts';
import type { TurnRow } from '../../engine/rows.ts';
import type { PayloadRules } from '../payloads/codecs.ts';
import type { Lifetime } from '../../base/lifetime.ts';
import type { ContextId, TurnId } from '../../base/brand.ts';
import { jsonable, type Jsonable } from '../../base/jsonable.ts';
import type { CheckedRead } from '../check-input.ts';
import type { TurnPage } from '../contexts.ts';
import { LazyTurn, PageBytes, type Turn, type TurnView } from '../turn.ts';

/** The parts with which every verb on contexts and turns works. */
export interface ContextsParts {
  readonly engine: Engine;
  readonly lifetime: Lifetime;
  readonly rules: PayloadRules;
  readonly readPage: ReadPage;
}

// A page of turns as plain data, and the requests for one. A page that is read where the data is can travel as it is,
// so that a page costs one round trip however many records and payloads it has.

export type PageRequest =
  /** The newest `n` turns of a context. */
  | { readonly kind: 'last'; readonly context: ContextId; readonly n: number }
  /** The `n` turns before `turn`, which belongs to the context. */
  | {
      readonly kind: 'before';
      readonly context: ContextId;
      readonly turn: TurnId;
      readonly n: number;
    }
  /** Depths `from` up to `to` (exclusive) on the way to the head. */
  | {
      readonly kind: 'range';
      readonly context: ContextId;
      readonly from: number;
      readonly to: number;
    }
  /** The same depths on the way to a turn. */
  | { readonly kind: 'chain'; readonly tip: TurnId; readonly from: number; readonly to: number };

export interface LoadedTurn {
  readonly view: TurnView;
  /**
   * The payload, shared with the engine unless the page says otherwise. Undefined when there is none to show, or none
   * was asked for.
   */
  readonly bytes: Uint8Array | undefined;
  readonly reason: string | undefined;
}

export interface LoadedPage {
  /** Sorted from older to newer. */
  readonly turns: readonly LoadedTurn[];
  readonly cursor: TurnId | undefined;
  readonly nextDepth: number | undefined;
  readonly headDepth: number;
  /** True when only the page has the payloads. */
  readonly unshared?: boolean;
}

export type ReadPage = (request: PageRequest, read: CheckedRead) => Promise<LoadedPage>;

const NO_BYTES = new Uint8Array();

export function toTurnPage(page: LoadedPage): Jsonable<TurnPage> {
  const { cursor, nextDepth, headDepth } = page;
  const turns = toTurns(page.turns, page.unshared);
  // A page has at most one of the two.
  if (cursor !== undefined) return jsonable({ turns, cursor, headDepth });
  return jsonable(nextDepth === undefined ? { turns, headDepth } : { turns, nextDepth, headDepth });
}

export function toTurns(loaded: readonly LoadedTurn[], unshared = false): Turn[] {
  const payloads = loaded.map(({ bytes }) => bytes ?? NO_BYTES);
  const page = new PageBytes(payloads, { unshared });
  return loaded.map(({ view, bytes, reason }, index) => {
    const payload = bytes === undefined ? undefined : { page, index };
    return new LazyTurn(view, { payload, reason });
  });
}

/** The number of records held at a time; payloads are held in groups of `maxBytes`. */
export const PAGE_TURNS = 256;

/** Yields the turns from depth `from` to `tip`, older first, a page in memory at a time. */
export async function* walkChain(
  readPage: ReadPage,
  tip: TurnRow,
  read: CheckedRead,
  { from, beforePage }: { from: number; beforePage?: (depth: number) => void },
): AsyncGenerator<Turn, void, undefined> {
  for (let depth = from; depth <= tip.depth;) {
    beforePage?.(depth);
    const to = Math.min(depth + PAGE_TURNS, tip.depth + 1);
    const page = await readPage({ kind: 'chain', tip: tip.id, from: depth, to }, read);
    yield* toTurns(page.turns, page.unshared);
    depth = page.nextDepth ?? to;
  }
}
