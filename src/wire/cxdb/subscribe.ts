import { ByteReader } from '../byte-reader.ts';
import { ByteWriter } from '../byte-writer.ts';
import type { Parts } from '../byte-writer.ts';

// SUBSCRIBE: u64 context, u64 after, u32 want.    Reply: HEAD, then pushes (push.ts).

/** A value of `after`: asks only for events from now on. */
export const FROM_NOW: bigint = 2n ** 64n - 1n;

/** Bits of `want`. */
export const Want = {
  PAYLOADS: 1,
  /** Open turns, their deltas and their seals. */
  OPEN: 2,
  PATCHES: 4,
} as const;

const KNOWN_WANTS = Want.PAYLOADS | Want.OPEN | Want.PATCHES;

export interface Subscribe {
  readonly context: bigint;
  /** The last turn that the client has; 0: the client has none. */
  readonly after: bigint;
  readonly want: number;
}

export function encodeSubscribe(subscribe: Subscribe): Parts {
  return new ByteWriter(20).u64(subscribe.context).u64(subscribe.after).u32(subscribe.want).parts();
}

export function decodeSubscribe(payload: Uint8Array): Subscribe {
  const reader = new ByteReader(payload, 'SUBSCRIBE');
  const context = reader.u64('context_id');
  const after = reader.u64('after_turn_id');
  const want = reader.u32('want');
  if ((want & ~KNOWN_WANTS) !== 0) throw reader.wrong('want', `has unknown bits: ${want}`);
  return { context, after, want };
}
