import type { Lifetime } from '../base/lifetime.ts';
import type { Engine } from '../engine/engine.ts';
import type { BlobNeed, EraseReport } from '../engine/upkeep.ts';
import type { Upcasters } from './events/upcast.ts';

/** Erases a blob that may have users of other kinds: only the store knows them. */
export type EraseBlob = (
  ref: string,
  options: {
    readonly reason: string;
    readonly everywhere?: boolean;
    readonly letGo?: readonly BlobNeed[];
  },
) => Promise<EraseReport>;

/** The context in which every verb on chats works. */
export interface ChatsWorld {
  readonly engine: Engine;
  readonly lifetime: Lifetime;
  readonly clock: () => number;
  readonly upcasters: Upcasters;
  readonly eraseBlob: EraseBlob;
}
