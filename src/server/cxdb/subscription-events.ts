import type { ContextId, TurnId } from '../../base/brand.ts';
import type { Change, TurnDelta } from '../../engine/batch.ts';
import type { PatchRow, TurnRow } from '../../engine/rows.ts';
import { Bell } from '../../base/bell.ts';

export type SubscriptionEvent =
  /** The turn became the head; `sealed`: the turn was open before. */
  | { readonly kind: 'turn'; readonly row: TurnRow; readonly sealed: boolean }
  | { readonly kind: 'opened'; readonly row: TurnRow }
  | { readonly kind: 'delta'; readonly delta: TurnDelta }
  /** A patch on any turn of the store. */
  | { readonly kind: 'patch'; readonly patch: PatchRow }
  | { readonly kind: 'removed' };

/** The bytes that an event costs in addition to the bytes it holds. */
const EVENT_BYTES = 512;

export interface EventFilter {
  readonly context: ContextId;
  readonly openTurns: boolean;
  readonly patches: boolean;
}

/** The events of one context that were not sent yet: records and deltas, never payloads. */
export class SubscriptionEvents {
  readonly #filter: EventFilter;
  readonly #maxBytes: number;
  readonly #onOverflow: () => void;
  readonly #bell = new Bell();
  readonly #events: SubscriptionEvent[] = [];
  #bytes = 0;
  /** The turn whose deltas count. While undefined, the deltas of every turn count. */
  #openTurn: TurnId | undefined;

  constructor(filter: EventFilter, maxBytes: number, onOverflow: () => void) {
    this.#filter = filter;
    this.#maxBytes = maxBytes;
    this.#onOverflow = onOverflow;
  }

  note(change: Change): void {
    const { context, openTurns, patches } = this.#filter;
    for (const row of change.turns) if (row.context === context) this.#addTurn(row);
    if (openTurns) this.#noteOpen(change);
    for (const row of change.sealed) {
      if (row.context === context) this.#add({ kind: 'turn', row, sealed: true });
    }
    if (patches) for (const patch of change.patches) this.#add({ kind: 'patch', patch });
    if (change.removedContexts.includes(context)) this.#add({ kind: 'removed' });
    if (this.#bytes > this.#maxBytes) this.#onOverflow();
  }

  /** Notes the turn that was open when the context was read, unless an event has named a later one. */
  foundOpen(turn: TurnId): void {
    this.#openTurn ??= turn;
  }

  next(): SubscriptionEvent | undefined {
    const event = this.#events.shift();
    if (event !== undefined) this.#bytes -= bytesOf(event);
    return event;
  }

  /** Resolves when an event may be there, or after `wake`. */
  wait(): Promise<void> {
    return this.#bell.wait();
  }

  wake(): void {
    this.#bell.ring();
  }

  #noteOpen(change: Change): void {
    for (const row of change.opened) {
      if (row.context !== this.#filter.context) continue;
      this.#openTurn = row.id;
      this.#add({ kind: 'opened', row });
    }
    for (const delta of change.deltas) {
      if (this.#openTurn !== undefined && this.#openTurn !== delta.turn) continue;
      this.#add({ kind: 'delta', delta });
    }
  }

  /** A head that only grew is one event. The subscription finds the turns up to it by walking back, many at a time. */
  #addTurn(row: TurnRow): void {
    const last = this.#events.at(-1);
    const event = { kind: 'turn', row, sealed: false } as const;
    if (last?.kind === 'turn' && !last.sealed && last.row.id === row.parent) {
      this.#events[this.#events.length - 1] = event;
    } else this.#add(event);
  }

  #add(event: SubscriptionEvent): void {
    this.#events.push(event);
    this.#bytes += bytesOf(event);
    this.#bell.ring();
  }
}

function bytesOf(event: SubscriptionEvent): number {
  return EVENT_BYTES + (event.kind === 'delta' ? event.delta.bytes.length : 0);
}
