import type { Hash } from '../../base/brand.ts';
import { ByteReader } from '../byte-reader.ts';
import { ByteWriter } from '../byte-writer.ts';
import type { Parts } from '../byte-writer.ts';
import { outcomeNumber } from './messages.ts';
import type { Outcome } from './messages.ts';
import { writeExtRow, writeTurnRec } from './pages.ts';
import type { ExtRow, TurnRec } from './pages.ts';

// SUBSCRIBE: u64 context, u64 after, u32 want.    Reply: HEAD, then pushes (below).

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

export function decodeSubscribe(payload: Uint8Array): Subscribe {
  const reader = new ByteReader(payload, 'SUBSCRIBE');
  const context = reader.u64('context_id');
  const after = reader.u64('after_turn_id');
  const want = reader.u32('want');
  if ((want & ~KNOWN_WANTS) !== 0) throw reader.wrong('want', `has unknown bits: ${want}`);
  return { context, after, want };
}

// The pushes to a subscriber, in frames of type SUBSCRIBE with the flag PUSHED: u32 kind, u64 turn, body.

export const PushKind = {
  TURN: 1,
  OPENED: 2,
  DELTA: 3,
  SEALED: 4,
  HEAD: 5,
  PATCHED: 6,
  CAUGHT_UP: 7,
} as const;

export type Push =
  /** A sealed turn. Body: TURN_REC, EXT row. */
  | { readonly kind: 'turn'; readonly rec: TurnRec; readonly ext: ExtRow }
  /** An open turn with the bytes so far. Body: TURN_REC, EXT row. */
  | { readonly kind: 'opened'; readonly rec: TurnRec; readonly ext: ExtRow }
  | PushedDelta
  | PushedSeal
  | PushedHead
  | PushedPatch
  /** The backlog is done; `turn` is the last one sent, or the one asked to start after. No body. */
  | { readonly kind: 'caught-up'; readonly turn: bigint };

/** Body: u64 offset, u32 len, bytes. */
interface PushedDelta {
  readonly kind: 'delta';
  readonly turn: bigint;
  readonly offset: number;
  readonly bytes: Uint8Array;
}

/** Ends a turn announced as opened. Body: u32 outcome, u64 total_len, hash. */
interface PushedSeal {
  readonly kind: 'sealed';
  readonly turn: bigint;
  readonly outcome: Outcome;
  readonly totalLength: number;
  readonly hash: Hash;
}

/** The head moved to another branch. `turn` is the head. Body: u64 common_turn, u64 head, u32 head_depth. */
interface PushedHead {
  readonly kind: 'head';
  /** The turns after this one follow. */
  readonly common: bigint;
  readonly head: bigint;
  readonly headDepth: number;
}

/** Body: u64 patch_seq, u32 flags, hash or zeros. */
interface PushedPatch {
  readonly kind: 'patched';
  readonly turn: bigint;
  readonly seq: bigint;
  /** Bits of `PatchFlag`. */
  readonly flags: number;
  /** Undefined for a tombstone. */
  readonly hash: Hash | undefined;
}

export function encodePush(push: Push): Parts {
  const writer = new ByteWriter();
  switch (push.kind) {
    case 'turn':
    case 'opened':
      writer.u32(push.kind === 'turn' ? PushKind.TURN : PushKind.OPENED).u64(push.rec.id);
      writeTurnRec(writer, push.rec);
      writeExtRow(writer, push.ext);
      break;
    case 'delta':
      writer.u32(PushKind.DELTA).u64(push.turn).count64(push.offset).sized32(push.bytes);
      break;
    case 'sealed':
      writer.u32(PushKind.SEALED).u64(push.turn).u32(outcomeNumber(push.outcome));
      writer.count64(push.totalLength).hash(push.hash);
      break;
    case 'head':
      writer.u32(PushKind.HEAD).u64(push.head).u64(push.common).u64(push.head).u32(push.headDepth);
      break;
    case 'patched':
      writer.u32(PushKind.PATCHED).u64(push.turn).u64(push.seq).u32(push.flags).hash(push.hash);
      break;
    case 'caught-up':
      writer.u32(PushKind.CAUGHT_UP).u64(push.turn);
  }
  return writer.parts();
}
