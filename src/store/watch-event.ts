import type { ContextId } from '../base/brand.ts';
import type { Context } from '../context/context.ts';
import type { Patch } from '../context/patches/patch.ts';
import type { Turn } from '../context/turns/turn.ts';

interface Positioned {
  /** Opaque: as `after` it goes on behind this event. */
  readonly id: string;
}

/** The first of every watch: from here on nothing is missed. */
export interface WatchBegan extends Positioned {
  /**
   * `resumed`: it went on from `after`, or the reader fell far behind. Turns, patches and new contexts
   * follow without a gap; contexts that were changed or removed meanwhile are not told again.
   */
  readonly kind: 'started' | 'resumed';
}

export interface ContextEvent extends Positioned {
  readonly kind: 'context.created' | 'context.updated';
  /** As it is when the event is read; changes in quick succession may come as one. */
  readonly context: Context;
}

export interface ContextRemoved extends Positioned {
  readonly kind: 'context.removed';
  readonly contextId: ContextId;
}

/**
 * A turn is told as appended, or as opened and later sealed. One that was opened and sealed before its
 * reader looked is told once, as appended.
 */
export interface TurnEvent extends Positioned {
  readonly kind: 'turn.appended' | 'turn.opened' | 'turn.sealed';
  /** Without its payload. */
  readonly turn: Turn;
}

export interface PatchEvent extends Positioned {
  readonly kind: 'patch.added';
  readonly patch: Patch;
}

/**
 * The reader is far behind: so many records of the store are yet to be gone through. All of them are told;
 * this comes again, counted anew, with every thousand until the reader is near.
 */
export interface WatchBehind extends Positioned {
  readonly kind: 'behind';
  readonly events: number;
}

/** A record that was due is damaged. What comes after it is told as usual. */
export interface UnreadableEvent extends Positioned {
  readonly kind: 'unreadable';
  readonly what: 'context' | 'turn' | 'patch';
  /** Its id or sequence number, in decimal. */
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
  readonly context?: ContextId;
  /** Only these kinds; `started`, `resumed` and `behind` always come. */
  readonly kinds?: readonly StoreEventKind[];
}

export interface WatchOptions {
  /** The id of an event seen before. Default: begin now. */
  readonly after?: string;
  /** Ends the iteration; it then returns, it does not throw. */
  readonly signal?: AbortSignal;
}
