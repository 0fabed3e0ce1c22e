import type { Lifetime } from '../base/lifetime.ts';
import type { Engine } from '../engine/engine.ts';
import type { BlobNeed, EraseReport } from '../engine/upkeep.ts';
import type { Upcasters } from './events/upcast.ts';

/** Erases a blob that may have users of other kinds: that is for the store to know. */
export type EraseBlob = (
  ref: string,
  options: {
    readonly reason: string;
    readonly everywhere?: boolean;
    readonly letGo?: readonly BlobNeed[];
  },
) => Promise<EraseReport>;

/** What every verb on chats works with. */
export interface ChatsWorld {
  readonly engine: Engine;
  readonly lifetime: Lifetime;
  readonly clock: () => number;
  readonly upcasters: Upcasters;
  readonly eraseBlob: EraseBlob;
}
