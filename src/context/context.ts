import type { ContextId, TurnId } from '../base/brand.ts';
import type { ShownFields } from '../base/jsonable.ts';

/** A movable head on the tree of turns, with its details. */
export interface Context {
  readonly id: ContextId;
  /** 0 while the context is empty. */
  readonly head: TurnId;
  /** Depth of the head; 0 also while the context is empty. */
  readonly headDepth: number;
  /** The turn that the context was forked from, 0 for a fresh one. */
  readonly base: TurnId;
  /** The turn being streamed into, or 0. */
  readonly openTurn: TurnId;
  /** Flags of the head: 2 while a turn is being streamed, 4 for a fork. Other bits may come. */
  readonly flags: number;
  /** Unix time in milliseconds. */
  readonly createdAt: number;
  /** Time of the last append, seal or creation. */
  readonly updatedAt: number;
  /** The name that no other context has, if it was given one. */
  readonly name?: string;
  readonly title?: string;
  readonly kind?: string;
  readonly labels: readonly string[];
  readonly meta?: unknown;
  toJSON(): ContextJson;
}

/** Ids as decimal strings. */
export type ContextJson = ShownFields<Context>;
