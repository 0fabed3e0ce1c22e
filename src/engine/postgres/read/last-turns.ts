import type { ContextId, Hash, TurnId } from '../../../base/brand.ts';
import { bytesToHash, hashToBytes } from '../../../base/hash.ts';
import { LruCache } from '../../../base/lru-cache.ts';
import type { Database } from '../../../postgres/database.ts';
import type { Statement } from '../../../postgres/sql.ts';
import type { LastTurns } from '../../engine.ts';
import type { FsRootRow, PatchRow } from '../../rows.ts';
import type { BlobReader } from '../blobs/blob-reader.ts';
import { type OverlayColumns, toFsRoots, toPatchRow } from './record-reader.ts';
import { assertWhole } from './turn-reader.ts';
import { isErased, toTurnRow, type TurnColumns, turnColumns } from './turn-rows.ts';

// Reads the newest turns of a context with everything that a page shows, in one statement. A separate round trip
// for the head, the walk, the patches and the payloads made a page of 20 turns take four times as long.

/** The most bytes of payloads in one answer. A larger page reads the rest in parts, as the reader advances. */
const BYTES_MAX = 4 * 1024 * 1024;
/** The most hashes to remember of the payloads that contexts showed last. */
const HASHES_MAX = 65_536;

/** The values: context, number of turns, bytes of payloads, payloads that are in the cache. */
export const READ_LAST: Statement = {
  name: 'read-last',
  text: `WITH RECURSIVE context AS (
      SELECT c.head, c.head_tree, c.head_depth FROM quipu.contexts c WHERE c.id = $1 AND NOT c.removed
    ), walk AS (
      SELECT ${turnColumns('t')}, 1::bigint AS nth FROM context c
        JOIN quipu.turns t ON t.tree = c.head_tree AND t.id = c.head
      UNION ALL
      SELECT ${turnColumns('t')}, w.nth + 1 FROM walk w
        JOIN quipu.turns t ON t.tree = w.tree AND t.id = w.parent WHERE w.nth < $2 AND w.depth > 0
    )
    SELECT c.head AS context_head, c.head_depth, w.*, b.hash IS NOT NULL AS there,
      ${isErased('w.payload')} AS erased, b.codec, b.size AS raw_size,
      CASE WHEN sum(w.size) OVER (ORDER BY w.nth) <= $3 AND b.hash <> ALL($4::bytea[]) THEN b.bytes END AS bytes,
      (SELECT json_agg(json_build_object('turn', p.turn, 'seq', p.seq, 'tombstone', p.tombstone, 'encoding', p.encoding,
          'payload', encode(p.payload, 'hex'), 'size', p.size, 'created_at', p.created_at, 'fs_root', p.fs_root,
          'erased', ${isErased('p.payload')}))
        FROM quipu.patches p WHERE p.turn = w.id) AS overlays
    FROM context c LEFT JOIN walk w ON true LEFT JOIN quipu.blobs b ON b.hash = w.payload ORDER BY w.nth`,
};

type Overlay = Omit<OverlayColumns, 'payload'> & { readonly payload: string };

interface LastColumns extends TurnColumns {
  readonly context_head: number;
  readonly head_depth: number;
  /** Null in the one row of a context without turns. */
  readonly nth: number | null;
  readonly there: boolean;
  readonly codec: number;
  readonly raw_size: number;
  readonly bytes: Uint8Array | null;
  readonly overlays: readonly Overlay[] | null;
}

export class LastTurnsReader {
  readonly #database: Database;
  readonly #blobs: BlobReader;
  readonly #shown: LruCache<ContextId, readonly Hash[]> = new LruCache(
    HASHES_MAX,
    (hashes) => hashes.length + 1,
  );

  constructor(database: Database, blobs: BlobReader) {
    this.#database = database;
    this.#blobs = blobs;
  }

  /** Undefined when there is no such context. */
  async read(context: ContextId, limit: number, maxBytes: number): Promise<LastTurns | undefined> {
    const known = maxBytes === 0 ? [] : this.#blobs.atHand(this.#shown.get(context) ?? []);
    const values = [context, limit, Math.min(maxBytes, BYTES_MAX), known.map(hashToBytes)];
    const rows = await this.#database.query<LastColumns>(READ_LAST, values);
    const [first] = rows;
    if (first === undefined) return undefined;
    const turns = rows.filter(({ nth }) => nth !== null);
    const head = BigInt(first.context_head) as TurnId;
    if (head !== 0n) assertWhole(turns, head, limit);
    const overlays = turns
      .flatMap((row) => row.overlays ?? [])
      .toSorted((a, b) => a.seq - b.seq)
      .map(toOverlay);
    const patches: PatchRow[] = overlays.filter((row) => !row.fs_root).map(toPatchRow);
    const fsRoots: FsRootRow[] = toFsRoots(overlays);
    const blobs = maxBytes === 0 ? new Map<Hash, Uint8Array>() : this.#takeBlobs(turns);
    if (maxBytes > 0) this.#shown.set(context, [...blobs.keys()]);
    return { headDepth: first.head_depth, turns: turns.map(toTurnRow), patches, fsRoots, blobs };
  }

  /** The payloads that arrived, and the cached ones that still exist. Any other payload is read by itself. */
  #takeBlobs(rows: readonly LastColumns[]): Map<Hash, Uint8Array> {
    const blobs = new Map<Hash, Uint8Array>();
    for (const { payload, there, codec, raw_size: size, bytes } of rows) {
      if (payload === null || !there) continue;
      const hash = bytesToHash(payload);
      const piece = bytes === null ? undefined : { hash: payload, codec, size, bytes };
      const taken = this.#blobs.take(hash, piece);
      if (taken !== undefined) blobs.set(hash, taken);
    }
    return blobs;
  }
}

function toOverlay(overlay: Overlay): OverlayColumns {
  return { ...overlay, payload: Buffer.from(overlay.payload, 'hex') };
}
