import type { Planter } from './planter.ts';

/** One way to damage the sample store, and where a check must find it. */
export interface Damage {
  readonly name: string;
  readonly file: string;
  /** Undefined when `plant` finds out. */
  readonly offset?: number;
  /** Checksums are right, so reads cannot tell; such bytes come from a bug, not from a disk. */
  readonly forged?: boolean;
  /** A log that a repair makes fit again: what it overwrites is set aside. */
  readonly mended?: boolean;
  /** It can be made again. */
  readonly stale?: boolean;
  /** May resolve to the offset. */
  readonly plant: (planter: Planter) => Promise<number | void>;
}
