/** A pack that still takes records. */
export interface PackTail {
  readonly number: number;
  readonly bulk: boolean;
  /** The place of the next record. */
  readonly length: number;
  readonly records: number;
}

/** The end of each file: all that an append must know of the store, whatever its size. */
export interface Tails {
  readonly nextTurn: number;
  readonly nextContext: number;
  readonly nextPatch: number;
  readonly nextAlias: number;
  readonly docsBytes: number;
  readonly typesBytes: number;
  readonly nextPack: number;
  readonly packs: readonly PackTail[];
  /** No timestamp handed out so far is later than this. */
  readonly timeMs: number;
}
