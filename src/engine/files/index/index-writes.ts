import { ALIAS_RECORD_BYTES, decodeAliasRecord } from '../../../format/alias-record.ts';
import { BlobCodec } from '../../../format/blob-record.ts';
import {
  decodeDocRecord,
  DOC_HEADER_BYTES,
  type DocRecord,
  docRecordLength,
} from '../../../format/doc-record.ts';
import {
  decodeHeadRecord,
  HEAD_RECORD_BYTES,
  type HeadRecord,
} from '../../../format/head-record.ts';
import type { JournalWrite } from '../../../format/journal-frame.ts';
import { decodePatchRecord, PATCH_RECORD_BYTES } from '../../../format/patch-record.ts';
import {
  decodeTurnRecord,
  TURN_RECORD_BYTES,
  type TurnRecord,
} from '../../../format/turn-record.ts';
import type { ContextMeta } from '../../rows.ts';
import type { ContextPlace } from './shelf.ts';
import { countOf, type Index } from './store-index.ts';
import {
  ALIASES_FILE,
  DOCS_FILE,
  HEADS_FILE,
  logOfExtents,
  packNumber,
  PATCHES_FILE,
  TURNS_FILE,
} from '../names.ts';
import { type PackItem, scanPack } from '../packs/scan-pack.ts';

// The index learns here from bytes written to a file of the store. The same code reads a frame that the index has
// not seen and, during a rebuild, the files themselves, piece by piece.

/** Indexes one write of a frame. The caller reads extents of bulk packs from the pack. */
export function indexWrite(index: Index, write: JournalWrite): void {
  if (write.kind === 'remove') {
    const log = logOfExtents(write.path);
    if (log !== undefined) index.setLog(log, true);
    const pack = packNumber(write.path);
    if (pack !== undefined) indexRemoval(index, pack);
    return;
  }
  if (write.kind !== 'bytes') return;
  const { path, offset, data } = write;
  if (path === TURNS_FILE)
    for (const turn of recordsIn(data, TURN_RECORD_BYTES)) indexTurn(index, decodeTurnRecord(turn));
  if (path === HEADS_FILE)
    for (const head of recordsIn(data, HEAD_RECORD_BYTES)) indexHead(index, decodeHeadRecord(head));
  if (path === PATCHES_FILE)
    for (const patch of recordsIn(data, PATCH_RECORD_BYTES)) indexPatch(index, patch);
  if (path === ALIASES_FILE)
    for (const alias of recordsIn(data, ALIAS_RECORD_BYTES)) indexAlias(index, alias);
  if (path === DOCS_FILE) indexDocs(index, data, offset);
  const log = logOfExtents(path);
  if (log !== undefined) index.setLog(log, false);
  const pack = packNumber(path);
  if (pack === undefined) return;
  for (const item of scanPack(data, offset)) indexPackItem(index, pack, item);
}

export function indexTurn(index: Index, turn: TurnRecord | undefined): void {
  if (turn === undefined) return;
  if (turn.idempotency !== undefined) index.addKey(turn.idempotency, Number(turn.id));
  index.count({ turns: 1, logicalBytes: turn.size });
}

export function indexHead(index: Index, head: HeadRecord | undefined): void {
  if (head === undefined) return;
  index.setContext(Number(head.id), toContextPlace(head));
}

export function toContextPlace(head: HeadRecord): ContextPlace {
  const { createdAt, updatedAt, removed } = head;
  return { head: Number(head.head), base: Number(head.base), createdAt, updatedAt, removed };
}

/** False when `bytes` are not an intact record. */
export function indexPatch(index: Index, bytes: Uint8Array): boolean {
  const patch = decodePatchRecord(bytes);
  if (patch !== undefined) index.addPatch(Number(patch.turn), patch.seq);
  return patch !== undefined;
}

export function indexAlias(index: Index, bytes: Uint8Array): boolean {
  const alias = decodeAliasRecord(bytes);
  if (alias !== undefined) index.addSha256(alias.sha256, alias.hash);
  return alias !== undefined;
}

/** Indexes whole records from the start of `bytes`. Returns the number of their bytes. */
export function indexDocs(index: Index, bytes: Uint8Array, offset: number): number {
  let at = 0;
  while (at < bytes.length) {
    const length = docRecordLength(bytes.subarray(at, at + DOC_HEADER_BYTES));
    if (length === undefined || at + length > bytes.length) break;
    const record = decodeDocRecord(bytes.subarray(at, at + length));
    if (record === undefined) break;
    indexDoc(index, record, offset + at, length);
    at += length;
  }
  return at;
}

function indexDoc(index: Index, record: DocRecord, offset: number, length: number): void {
  const { name, version, content } = record;
  index.setDoc(name, { offset, length, version, removed: content === undefined });
  const context = /^contexts\/(\d+)$/.exec(name)?.[1];
  if (context === undefined) return;
  const { kind, labels = [] } = JSON.parse(content ?? '{}') as ContextMeta;
  index.setContextTags(Number(context), { kind, labels });
}

export function indexPackItem(index: Index, pack: number, item: PackItem): void {
  if (item.kind !== 'blob') return;
  const { hash, offset, rawLength, storedLength, codec } = item;
  if (codec === BlobCodec.erased) {
    const place = index.findBlob(hash);
    // The place was removed before, or never existed: a rebuilt index sees the record as it is now.
    if (place?.pack === pack && place.offset === offset) index.forgetBlobs([place]);
    return;
  }
  const place = { hash, pack, offset, rawLength, storedLength, codec };
  index.addBlob(place);
  index.count(countOf(place, 1));
}

/** Happens rarely, after a crash in a collection. So the content of the pack is summed up only when needed. */
function indexRemoval(index: Index, pack: number): void {
  for (const place of index.walkBlobs()) {
    if (place.pack === pack) index.count(countOf(place, -1));
  }
  index.dropPack(pack);
}

function* recordsIn(bytes: Uint8Array, size: number): Generator<Uint8Array> {
  for (let at = 0; at + size <= bytes.length; at += size) yield bytes.subarray(at, at + size);
}
