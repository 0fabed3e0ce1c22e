import { ByteReader } from '../byte-reader.ts';
import { ByteWriter } from '../byte-writer.ts';
import type { Parts } from '../byte-writer.ts';

// CTX_CREATE, CTX_FORK: u64 base.  GET_HEAD: u64 context.
// HEAD, the reply to all three and to SUBSCRIBE: u64 context, u64 head, u32 depth.
const HEAD_BYTES = 20;

export interface Head {
  readonly context: bigint;
  /** 0 while the context is empty. */
  readonly head: bigint;
  /** 0 for a root turn and for an empty context. */
  readonly depth: number;
}

export function decodeCtxCreate(payload: Uint8Array): bigint {
  return new ByteReader(payload, 'CTX_CREATE').u64('base_turn_id');
}

export function decodeGetHead(payload: Uint8Array): bigint {
  return new ByteReader(payload, 'GET_HEAD').u64('context_id');
}

export function encodeHead(head: Head): Parts {
  return new ByteWriter(HEAD_BYTES).u64(head.context).u64(head.head).u32(head.depth).parts();
}
