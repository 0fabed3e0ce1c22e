import type { Hash, TurnId } from '../../../base/brand.ts';
import { canonicalJson } from '../../../base/canonical-json.ts';
import { encodeUtf8 } from '../../../base/text.ts';
import { encodeAliasRecord, encodeErasedRecord } from '../../../format/blob-record.ts';
import { crc32 } from '../../../format/bytes.ts';
import {
  addCollected,
  type CollectedMap,
  encodeCollectedMap,
  encodeDelta,
  encodeTurnRecord,
  encodeTypeLine,
  extendCollected,
} from '../../../format/turn-record.ts';
import {
  type DocRecord,
  encodeDocDifference,
  encodeDocRecord,
} from '../../../format/doc-record.ts';
import { encodeHeadRecord } from '../../../format/head-record.ts';
import type { JournalWrite } from '../../../format/journal-frame.ts';
import { LOG_EXTENT_BYTES, encodeLogExtent } from '../../../format/log-extent.ts';
import { encodePatchRecord } from '../../../format/patch-record.ts';
import type { Draft, LogDraft, OpenDraft, OpenTurn } from '../../plan/draft.ts';
import type { DocWritten, EncodedGroup } from '../core/core.ts';
import { advanceTails } from '../core/truths.ts';
import { contextDoc, type DocBase, type DocBases, DOCS_FILE } from '../docs/doc-log.ts';
import { HEAD_RECORDS } from '../heads/head-table.ts';
import { extentsFile } from '../logs/line-log.ts';
import { openFileBytes, openTurnFile } from '../open-turns/open-turns.ts';
import { ALIAS_RECORDS, encodePacks } from '../packs/pack-file.ts';
import { ERASED_FILE, type ErasedBlobs } from '../packs/erased-blobs.ts';
import { PATCH_RECORDS } from '../patches/patches.ts';
import type { Tails } from '../truth/state.ts';
import { COLLECTED_FILE, TURN_RECORDS, TYPES_FILE, toTurnFields } from '../turns/turn-table.ts';

/** The stored state that a group may add to. */
interface Kept {
  readonly docBases: Pick<DocBases, 'find'>;
  readonly collected: CollectedMap;
  readonly erased: Pick<ErasedBlobs, 'fileBytes'>;
}

/** Pure: turns a draft and the tails into writes. `newPack` hands out an unused number. */
export function encodeGroup(
  draft: Draft,
  tails: Tails,
  newPack: () => number,
  kept: Kept,
): EncodedGroup {
  const packs = encodePacks(draft, tails, newPack);
  const docs = encodeDocs(draft, tails, kept.docBases);
  // The draft counts turns and heads: decoding them for that would cost more than encoding.
  const counted = [...encodeTurns(draft), ...encodeHeads(draft)];
  const writes = [
    ...encodeAliases(draft, tails),
    ...encodeTypes(draft, tails),
    ...encodeErased(draft, kept.erased),
    ...encodePatches(draft, tails),
  ];
  for (const [id, open] of draft.opens.entries()) writes.push(...encodeOpen(draft, id, open));
  for (const [name, log] of draft.logs.entries()) writes.push(...encodeLog(name, log));
  writes.push(...docs.writes);
  const collected = withGone(draft, kept.collected);
  if (collected !== undefined) {
    writes.push({ kind: 'whole', path: COLLECTED_FILE, data: encodeCollectedMap(collected) });
  }
  const advanced = writes.reduce(advanceTails, packs.tails);
  const { nextTurn, nextContext } = draft.counters;
  return {
    writes: [...packs.writes, ...counted, ...writes],
    tails: { ...advanced, nextTurn, nextContext, timeMs: draft.nowMs },
    blobs: packs.placed,
    docs: docs.places,
    collected,
  };
}

/** The map of collected turns with the draft's additions. Undefined when the draft adds none. */
function withGone(draft: Draft, before: CollectedMap): CollectedMap | undefined {
  const gone = [...draft.goneTurns.entries()];
  if (gone.length === 0) return undefined;
  const map = extendCollected(before, draft.counters.nextTurn);
  for (const [id] of gone) addCollected(map, id);
  return map;
}

/** The records name no pack, because the bytes were never in this store. */
function encodeErased(draft: Draft, erased: Kept['erased']): JournalWrite[] {
  const notes = [...draft.erased.entries()].map(([hash]: [Hash, true]) =>
    encodeErasedRecord({ hash, pack: 0, offset: 0, length: 0, erasedAt: draft.nowMs }),
  );
  return notes.length === 0 ? [] : appendAt(ERASED_FILE, erased.fileBytes, notes);
}

function encodeAliases(draft: Draft, tails: Tails): JournalWrite[] {
  const records = [...draft.sha256.entries()].map(([sha256, hash]: [string, Hash]) =>
    encodeAliasRecord({ hash, sha256 }),
  );
  return appendRecords(ALIAS_RECORDS, tails, records);
}

function encodeTypes(draft: Draft, tails: Tails): JournalWrite[] {
  const lines = [...draft.types.entries()].map(([, type]) => encodeTypeLine(type));
  return appendAt(TYPES_FILE, tails.typesBytes, lines);
}

/** New turns lie side by side and become one write. A sealed turn goes to the slot reserved for it. */
function encodeTurns(draft: Draft): JournalWrite[] {
  return encodeRuns(draft.turns.entries(), TURN_RECORDS, (turn, into, at) => {
    const { tag } = draft.view.tagOf(turn.row);
    encodeTurnRecord(toTurnFields(turn, tag), into, at);
  });
}

function encodeHeads(draft: Draft): JournalWrite[] {
  return encodeRuns(draft.heads.entries(), HEAD_RECORDS, encodeHeadRecord);
}

function encodePatches(draft: Draft, tails: Tails): JournalWrite[] {
  const records = [...draft.patches.entries()].map(([, patch]) => encodePatchRecord(patch));
  return appendRecords(PATCH_RECORDS, tails, records);
}

function encodeOpen(draft: Draft, id: number, open: OpenDraft): JournalWrite[] {
  const path = openTurnFile(id);
  // The turn was opened and sealed within one group, so its file never existed.
  if (open.closed) return open.created ? [] : [{ kind: 'remove', path }];
  const added = encodeText(open);
  if (open.created) added.unshift(encodeOpenHeader(open.turn, draft));
  const addedBytes = added.reduce((sum, piece) => sum + piece.length, 0);
  return appendAt(path, openFileBytes(open.turn) - addedBytes, added);
}

function encodeText({ turn, text }: OpenDraft): Uint8Array[] {
  let offset = turn.row.size - text.reduce((sum, piece) => sum + piece.length, 0);
  return text.map((data) => {
    const delta = encodeDelta({ offset, data });
    offset += data.length;
    return delta;
  });
}

function encodeOpenHeader({ row, jump, sideJump }: OpenTurn, draft: Draft): Uint8Array {
  const { tag: typeTag } = draft.view.tagOf(row);
  const jumps = { jump: BigInt(jump) as TurnId, sideJump: BigInt(sideJump) as TurnId };
  // The file as it began: without the text that the same group added.
  return encodeTurnRecord({ ...row, size: 0, typeTag, ...jumps, idempotency: undefined });
}

function encodeLog(name: string, log: LogDraft): JournalWrite[] {
  const writes: JournalWrite[] = [];
  if (log.removed) {
    writes.push({ kind: 'remove', path: name }, { kind: 'remove', path: extentsFile(name) });
  }
  if (log.state === undefined) return writes;
  const data = encodeUtf8(log.text);
  const extent = encodeLogExtent({
    endOffset: log.state.bytes,
    endLine: log.state.lines,
    contentCrc: crc32(data),
  });
  writes.push({ kind: 'bytes', path: name, offset: log.base.bytes, data });
  writes.push(...appendAt(extentsFile(name), log.base.extents * LOG_EXTENT_BYTES, [extent]));
  return writes;
}

function encodeDocs(
  draft: Draft,
  tails: Tails,
  bases: Pick<DocBases, 'find'>,
): { writes: JournalWrite[]; places: EncodedGroup['docs'] } {
  const own = metaRecords(draft);
  const records = [...own, ...[...draft.docs.entries()].map(([, doc]) => doc)];
  const places: DocWritten[] = [];
  const encoded: Uint8Array[] = [];
  const published: JournalWrite[] = [];
  let offset = tails.docsBytes;
  for (const [nth, record] of records.entries()) {
    const { name, version, content } = record;
    const before = bases.find(name);
    const written = asDifference(record, before);
    const bytes = encodeDocRecord(written);
    const place = { offset, length: bytes.length, version, removed: content === undefined };
    const chain = written.difference === true ? (before?.chain ?? 0) + 1 : 0;
    const base = record.published && content !== undefined ? { place, content, chain } : undefined;
    places.push({ name, place, base });
    encoded.push(bytes);
    offset += bytes.length;
    // The engine's own documents never have a plain file.
    if (nth < own.length) continue;
    if (content === undefined) published.push({ kind: 'remove', path: name });
    else if (record.published)
      published.push({ kind: 'whole', path: name, data: encodeUtf8(content) });
  }
  return { writes: [...appendAt(DOCS_FILE, tails.docsBytes, encoded), ...published], places };
}

/** A document that changes a little at a time, such as an index of threads, takes little room per version. */
function asDifference(record: DocRecord, base: DocBase | undefined): DocRecord {
  if (base === undefined || record.content === undefined || !record.published) return record;
  const content = encodeDocDifference(base.content, record.content, base.place);
  return content === undefined ? record : { ...record, content, difference: true };
}

/** A context without metadata has no document. */
function metaRecords(draft: Draft): DocRecord[] {
  const records: DocRecord[] = [];
  for (const [id, meta] of draft.metas.entries()) {
    const name = contextDoc(id);
    const before = draft.view.findDoc(name);
    if (before === undefined && Object.keys(meta).length === 0) continue;
    const version = (before?.version ?? 0) + 1;
    const content = canonicalJson(meta);
    records.push({ name, version, createdAt: draft.nowMs, content, published: false });
  }
  return [...records, ...removalRecords(draft)];
}

/** Records a second time that a context was removed: its slot alone could be an old one that came back. */
function removalRecords(draft: Draft): DocRecord[] {
  const records: DocRecord[] = [];
  for (const [id, { removed }] of draft.heads.entries()) {
    if (!removed) continue;
    const name = contextDoc(id);
    const before = draft.view.findDoc(name);
    if (before?.removed === true) continue;
    const described = draft.metas.get(id) === undefined ? 0 : 1;
    const version = (before?.version ?? 0) + described + 1;
    records.push({
      name,
      version,
      createdAt: draft.nowMs,
      content: undefined,
      published: false,
    });
  }
  return records;
}

function appendRecords(
  file: Pick<typeof ALIAS_RECORDS, 'lengthBy'>,
  tails: Tails,
  records: readonly Uint8Array[],
): JournalWrite[] {
  return records.length === 0 ? [] : appendAt(...file.lengthBy(tails), records);
}

/** Joins pieces that follow each other into one write. No pieces give no write. */
function appendAt(path: string, offset: number, pieces: readonly Uint8Array[]): JournalWrite[] {
  const [first] = pieces;
  if (first === undefined) return [];
  const data = pieces.length === 1 ? first : Buffer.concat(pieces);
  return [{ kind: 'bytes', path, offset, data }];
}

/** Records that lie side by side become one write, encoded where they will be written from. */
function encodeRuns<R>(
  records: Iterable<[number, R]>,
  { name: path, bytes: recordBytes }: { readonly name: string; readonly bytes: number },
  encode: (record: R, into: Buffer, at: number) => void,
): JournalWrite[] {
  const sorted = [...records].sort(([a], [b]) => a - b);
  const writes: JournalWrite[] = [];
  for (let start = 0; start < sorted.length;) {
    const first = sorted[start]?.[0] ?? 0;
    let end = start + 1;
    while (sorted[end]?.[0] === first + end - start) end += 1;
    const data = Buffer.allocUnsafe((end - start) * recordBytes);
    let at = 0;
    for (const [, record] of sorted.slice(start, end)) {
      encode(record, data, at);
      at += recordBytes;
    }
    writes.push({ kind: 'bytes', path, offset: first * recordBytes, data });
    start = end;
  }
  return writes;
}
