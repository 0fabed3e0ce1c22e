import type { ContextId, ContextIdLike } from '../base/brand.ts';
import type { Jsonable } from '../base/jsonable.ts';
import type { Context } from '../context/context.ts';
import type { Patch } from '../context/contexts.ts';
import type { Turn } from '../context/turn.ts';

interface Positioned {
  /** Opaque. Pass it as `after` to continue after this event. */
  readonly id: string;
}

/** The first event of every watch: from here on nothing is missed. */
export interface WatchBegan extends Positioned {
  /**
   * `resumed`: the watch continued from `after`, or the reader fell far behind. Turns, patches and new contexts follow
   * without a gap. Contexts that were changed or removed meanwhile are not reported again.
   */
  readonly kind: 'started' | 'resumed';
}

export interface ContextEvent extends Positioned {
  readonly kind: 'context.created' | 'context.updated';
  /** The context as it is when the event is read; changes in quick succession may come as one. */
  readonly context: Context;
}

export type ContextRemoved = Jsonable<
  Positioned & { readonly kind: 'context.removed'; readonly contextId: ContextId }
>;

/**
 * A turn is reported as appended, or as opened and later sealed. A turn that was opened and sealed before its reader
 * looked is reported once, as appended.
 */
export interface TurnEvent extends Positioned {
  readonly kind: 'turn.appended' | 'turn.opened' | 'turn.sealed';
  /** The turn, without its payload. */
  readonly turn: Turn;
}

export interface PatchEvent extends Positioned {
  readonly kind: 'patch.added';
  readonly patch: Patch;
}

/**
 * The reader is far behind: it has this many records of the store yet to go through. All of them are reported. This
 * event comes again, with a new count, with every thousand until the reader is near.
 */
export interface WatchBehind extends Positioned {
  readonly kind: 'behind';
  readonly events: number;
}

/** A record that was due is damaged. Later records are reported as usual. */
export interface UnreadableEvent extends Positioned {
  readonly kind: 'unreadable';
  readonly what: 'context' | 'turn' | 'patch';
  /** The id or sequence number of the record, in decimal. */
  readonly number: string;
}

export type StoreEvent =
  | WatchBegan
  | WatchBehind
  | ContextEvent
  | ContextRemoved
  | TurnEvent
  | PatchEvent
  | UnreadableEvent;

export type StoreEventKind = StoreEvent['kind'];

export interface WatchFilter {
  /** Only this context, the turns appended to it, and their patches. */
  readonly context?: ContextIdLike;
  /** Only these kinds; `started`, `resumed` and `behind` always come. */
  readonly kinds?: readonly StoreEventKind[];
}

export interface WatchOptions {
  /** The id of an event seen before. Default: begin now. */
  readonly after?: string;
  /** Ends the iteration; the iteration then returns and does not throw. */
  readonly signal?: AbortSignal;
}
