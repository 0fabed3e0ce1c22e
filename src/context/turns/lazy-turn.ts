import type { ContextId, Hash, TurnId } from '../../base/brand.ts';
import { Encoding, TurnFlag, encodingName } from '../../format/turn-record.ts';
import type { EncodingName } from '../../format/turn-record.ts';
import type { TurnView } from '../patches/apply-patches.ts';
import { decodePayload, toJsonValue } from '../payloads/decode-payload.ts';
import type { PageBytes } from './page-bytes.ts';
import type { Turn, TurnJson } from './turn.ts';

/** The low half of the flags is for readers, the high half is the engine's bookkeeping. */
const READER_FLAGS = 0xffff;

/** The content that was read along with the record. */
export interface TurnContent {
  /** The payload, by its place in a page. */
  readonly payload?: { readonly page: PageBytes; readonly index: number } | undefined;
  readonly reason?: string | undefined;
}

/** The result of decoding: the bytes when it failed. */
interface Decoded {
  readonly value: unknown;
  readonly failed: boolean;
}

/** A turn that copies or decodes its payload when asked, and once. */
export class LazyTurn implements Turn {
  readonly id: TurnId;
  readonly context: ContextId;
  readonly parent: TurnId;
  readonly depth: number;
  readonly type: string;
  readonly version: number;
  readonly encoding: EncodingName | number;
  readonly payloadHash: Hash | undefined;
  readonly size: number;
  readonly createdAt: number;
  readonly flags: number;
  readonly state: 'sealed' | 'open';
  readonly outcome?: 'aborted' | 'interrupted';
  readonly patched: boolean;
  readonly tombstone: boolean;
  readonly reason?: string;
  readonly #encoding: number;
  readonly #payload: TurnContent['payload'];
  #bytes: Uint8Array | undefined;
  #decoded: Decoded | undefined;

  constructor(view: TurnView, content: TurnContent) {
    const { row, patch } = view;
    this.id = row.id;
    this.context = row.context;
    this.parent = row.parent;
    this.depth = row.depth;
    this.type = row.type;
    this.version = row.version;
    this.encoding = encodingName(view.encoding) ?? view.encoding;
    this.payloadHash = view.payload;
    this.size = view.size;
    this.createdAt = row.createdAt;
    this.patched = patch !== undefined;
    this.tombstone = patch?.tombstone ?? false;
    this.flags =
      (row.flags & READER_FLAGS) |
      (this.patched ? TurnFlag.PATCHED : 0) |
      (this.tombstone ? TurnFlag.TOMBSTONE : 0);
    this.state = (row.flags & TurnFlag.OPEN) === 0 ? 'sealed' : 'open';
    if ((row.flags & TurnFlag.ABORTED) !== 0) this.outcome = 'aborted';
    else if ((row.flags & TurnFlag.INTERRUPTED) !== 0) this.outcome = 'interrupted';
    if (content.reason !== undefined) this.reason = content.reason;
    this.#encoding = view.encoding;
    this.#payload = content.payload;
  }

  get bytes(): Uint8Array | undefined {
    this.#bytes ??= this.#payload?.page.own(this.#payload.index);
    return this.#bytes;
  }

  get payload(): unknown {
    this.#decoded ??= this.#decode();
    return this.#decoded.value;
  }

  get undecodable(): boolean {
    this.#decoded ??= this.#decode();
    return this.#decoded.failed;
  }

  #decode(): Decoded {
    const bytes = this.#decodable();
    if (bytes === undefined) return { value: undefined, failed: false };
    try {
      return { value: decodePayload(bytes, this.#encoding), failed: false };
    } catch {
      // A hostile user may have stored the payload: its declared encoding must not end a reader.
      return { value: this.bytes, failed: true };
    }
  }

  /**
   * A value decoded from JSON or text is new; any other value may keep parts of its bytes. Once the reader has the
   * bytes, and may have changed them, those bytes are decoded from then on, wherever the page came from.
   */
  #decodable(): Uint8Array | undefined {
    const isText = this.#encoding === Encoding.json || this.#encoding === Encoding.text;
    return isText && this.#bytes === undefined
      ? this.#payload?.page.view(this.#payload.index)
      : this.bytes;
  }

  toJSON(): TurnJson {
    const { payloadHash, outcome, patched, tombstone, reason } = this;
    return {
      id: String(this.id),
      context: String(this.context),
      parent: String(this.parent),
      depth: this.depth,
      type: this.type,
      version: this.version,
      encoding: this.encoding,
      ...(payloadHash !== undefined && { payloadHash }),
      size: this.size,
      createdAt: this.createdAt,
      flags: this.flags,
      state: this.state,
      ...(outcome !== undefined && { outcome }),
      ...(patched && { patched }),
      ...(tombstone && { tombstone }),
      ...(reason !== undefined && { reason }),
      ...(this.#payload !== undefined && { payload: toJsonValue(this.payload) }),
      ...(this.undecodable && { undecodable: true }),
    };
  }
}
