import type { TurnId } from '../../base/brand.ts';

/** A turn that stays, with everything before it, whether or not a context leads to it. */
export interface Pin {
  readonly turn: TurnId;
  readonly reason?: string;
}

export interface PinOptions {
  /** The reason; at most 4 KiB. */
  readonly reason?: string;
}
