import { ALIAS_RECORD_BYTES } from '../../../format/alias-record.ts';
import { decodeDocRecord, DOC_HEADER_BYTES, docRecordLength } from '../../../format/doc-record.ts';
import { OPEN_FILE_HEADER_BYTES } from '../../../format/file-header.ts';
import { decodeHeadRecord, HEAD_RECORD_BYTES } from '../../../format/head-record.ts';
import { PATCH_RECORD_BYTES } from '../../../format/patch-record.ts';
import { decodeTurnRecord, TURN_RECORD_BYTES } from '../../../format/turn-record.ts';
import type { Index } from './store-index.ts';
import { ALIASES_FILE, DOCS_FILE, HEADS_FILE, PATCHES_FILE, TURNS_FILE } from '../names.ts';
import { contextDoc } from '../commit/encode-group.ts';
import { type Area, DamageReport } from '../recovery/damage.ts';
import { indexAlias, indexDocs, indexHead, indexPatch, indexTurn } from './index-writes.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import type { Rebuild } from './rebuild.ts';
import { rebuildLogs } from '../logs/rebuild-logs.ts';
import { rebuildPacks } from '../packs/rebuild-packs.ts';

// Builds the index from the files alone. Memory stays bounded: files are read in pieces, and the index writes
// itself out as it fills. Damage is noted and skipped, so that everything else can still be found.

/**
 * So few that a piece of heads has 64 KiB and is read at once. A slower read would be repeated each time a head
 * moves meanwhile.
 */
const PIECE_RECORDS = 1024;
const DOC_PIECE_BYTES = 1024 * 1024;
/** The first bytes of every document record. */
const DOC_MAGIC = 'QDRC';

export async function rebuildIndex(options: Omit<Rebuild, 'damage'>): Promise<DamageReport> {
  const rebuild: Rebuild = { ...options, damage: new DamageReport() };
  await rebuildHeads(rebuild);
  await rebuildTurns(rebuild);
  await rebuildFixed(rebuild, 'patches', {
    file: PATCHES_FILE,
    bytes: PATCH_RECORD_BYTES,
    next: rebuild.tails.nextPatch,
    take: indexPatch,
  });
  await rebuildFixed(rebuild, 'aliases', {
    file: ALIASES_FILE,
    bytes: ALIAS_RECORD_BYTES,
    next: rebuild.tails.nextAlias,
    take: indexAlias,
  });
  await rebuildDocs(rebuild);
  checkRemovals(rebuild);
  await rebuildPacks(rebuild);
  await rebuildLogs(rebuild);
  return rebuild.damage;
}

async function rebuildHeads(rebuild: Rebuild): Promise<void> {
  await rebuildFixed(rebuild, 'heads', {
    file: HEADS_FILE,
    bytes: HEAD_RECORD_BYTES,
    next: rebuild.tails.nextContext,
    take: (index, bytes, id) => {
      const head = decodeHeadRecord(bytes);
      if (head === undefined || Number(head.id) !== id) {
        // The slot cannot be read, and stays damaged. A repair can rebuild it from this entry.
        const seen = rebuild.seen?.(id);
        if (seen !== undefined) index.setContext(id, seen);
        return false;
      }
      // The turns tell the real head of the context: a slot can be intact and old.
      indexHead(index, { ...head, head: head.base });
      return true;
    },
  });
}

async function rebuildTurns(rebuild: Rebuild): Promise<void> {
  await rebuildFixed(rebuild, 'turns', {
    file: TURNS_FILE,
    bytes: TURN_RECORD_BYTES,
    next: rebuild.tails.nextTurn,
    take: (index, bytes, id) => {
      const turn = decodeTurnRecord(bytes);
      if (turn === undefined) return rebuild.isOpenTurn(id);
      if (Number(turn.id) !== id) return false;
      indexTurn(index, turn);
      const context = index.getContext(Number(turn.context));
      if (context !== undefined) index.setContext(Number(turn.context), { ...context, head: id });
      return true;
    },
  });
}

/** Removing a context also removes its document. The two must agree, otherwise one of them is an old version. */
function checkRemovals({ index, damage, tails }: Rebuild): void {
  if (damage.places.some(({ area }) => area === 'docs')) return;
  for (let id = 1; id < tails.nextContext; id += 1) {
    const context = index.getContext(id);
    const removed = index.findDoc(contextDoc(id))?.removed === true;
    if (context === undefined || context.removed === removed) continue;
    index.setContext(id, { ...context, removed });
    const what = `context ${id} ${removed ? 'was' : 'was not'} removed`;
    damage.add({ area: 'heads', file: HEADS_FILE, offset: id * HEAD_RECORD_BYTES, what });
  }
}

interface FixedFile {
  readonly file: string;
  readonly bytes: number;
  /** The first number not in use. */
  readonly next: number;
  readonly take: (index: Index, bytes: Uint8Array, number: number) => boolean;
}

/** A file of equal records, with number n at n times their size. */
async function rebuildFixed(rebuild: Rebuild, area: Area, fixed: FixedFile): Promise<void> {
  const { files, index, damage } = rebuild;
  for (let first = 1; first < fixed.next; first += PIECE_RECORDS) {
    const count = Math.min(PIECE_RECORDS, fixed.next - first);
    const piece = await files.read(fixed.file, first * fixed.bytes, count * fixed.bytes);
    for (let at = 0; at < count; at += 1) {
      const bytes = piece.subarray(at * fixed.bytes, (at + 1) * fixed.bytes);
      if (fixed.take(index, bytes, first + at)) continue;
      const offset = (first + at) * fixed.bytes;
      damage.add({ area, file: fixed.file, offset, what: `record ${first + at} is damaged` });
    }
    index.maybeFlush();
    rebuild.progress?.(first + count - 1, fixed.next - 1, area);
  }
}

async function rebuildDocs(rebuild: Rebuild): Promise<void> {
  const { files, tails, index, damage } = rebuild;
  const end = tails.docsBytes;
  let pieceBytes = DOC_PIECE_BYTES;
  let offset = OPEN_FILE_HEADER_BYTES;
  while (offset < end) {
    const piece = await files.read(DOCS_FILE, offset, Math.min(pieceBytes, end - offset));
    const taken = indexDocs(index, piece, offset);
    if (taken === 0 && piece.length === pieceBytes && offset + pieceBytes < end) {
      // One document is larger than the piece, so a larger piece is read.
      pieceBytes *= 2;
      continue;
    }
    if (taken === 0) {
      const what = 'the document record here is damaged';
      damage.add({ area: 'docs', file: DOCS_FILE, offset, what });
      offset = await nextDoc(files, offset + 1, end);
      continue;
    }
    offset += taken;
    index.maybeFlush();
    rebuild.progress?.(offset, end, 'docs');
  }
}

/** The next offset from `from` on where a whole record can be read; `end` when there is none. */
async function nextDoc(files: StoreFiles, from: number, end: number): Promise<number> {
  for (let at = from; at < end; at += DOC_PIECE_BYTES) {
    const bytes = await files.read(DOCS_FILE, at, Math.min(2 * DOC_PIECE_BYTES, end - at));
    const piece = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    let found = piece.indexOf(DOC_MAGIC);
    while (found !== -1 && found < DOC_PIECE_BYTES) {
      const length = docRecordLength(piece.subarray(found, found + DOC_HEADER_BYTES)) ?? 0;
      if (decodeDocRecord(piece.subarray(found, found + length)) !== undefined) return at + found;
      found = piece.indexOf(DOC_MAGIC, found + 1);
    }
  }
  return end;
}
