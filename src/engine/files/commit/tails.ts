import type { JournalWrite } from '../../../format/journal-frame.ts';
import { ALIAS_RECORD_BYTES } from '../../../format/alias-record.ts';
import { decodeHeadRecord, HEAD_RECORD_BYTES } from '../../../format/head-record.ts';
import { PATCH_RECORD_BYTES } from '../../../format/patch-record.ts';
import { TURN_RECORD_BYTES } from '../../../format/turn-record.ts';
import {
  ALIASES_FILE,
  DOCS_FILE,
  HEADS_FILE,
  openTurnNumber,
  packNumber,
  PATCHES_FILE,
  TURNS_FILE,
  TYPES_FILE,
} from '../names.ts';
import { scanPack } from '../packs/scan-pack.ts';

/** A pack that still takes records. */
export interface PackTail {
  readonly number: number;
  readonly bulk: boolean;
  /** The place of the next record. */
  readonly length: number;
  readonly records: number;
}

/** The end of each file: all that an append must know of the store, whatever its size. */
export interface Tails {
  readonly nextTurn: number;
  readonly nextContext: number;
  readonly nextPatch: number;
  readonly nextAlias: number;
  readonly docsBytes: number;
  readonly typesBytes: number;
  readonly nextPack: number;
  readonly packs: readonly PackTail[];
  /** No timestamp handed out so far is later than this. */
  readonly timeMs: number;
}

/** The tails after one more write. Pure: recovery learns them from the frames it replays. */
export function advanceTails(tails: Tails, write: JournalWrite): Tails {
  if (write.kind === 'extent') return extendPack(tails, write.path, write.offset + write.length);
  if (write.kind !== 'bytes') return tails;
  const end = write.offset + write.data.length;
  switch (write.path) {
    case TURNS_FILE:
      return { ...tails, nextTurn: Math.max(tails.nextTurn, end / TURN_RECORD_BYTES) };
    case HEADS_FILE:
      return advanceHeads(tails, write.data, end);
    case PATCHES_FILE:
      return { ...tails, nextPatch: Math.max(tails.nextPatch, end / PATCH_RECORD_BYTES) };
    case ALIASES_FILE:
      return { ...tails, nextAlias: Math.max(tails.nextAlias, end / ALIAS_RECORD_BYTES) };
    case DOCS_FILE:
      return { ...tails, docsBytes: Math.max(tails.docsBytes, end) };
    case TYPES_FILE:
      return { ...tails, typesBytes: Math.max(tails.typesBytes, end) };
    default:
      return advanceByName(tails, write.path, write.offset, write.data);
  }
}

/** The newest time handed out is in some head: an append, a seal or a creation moves one. */
function advanceHeads(tails: Tails, data: Uint8Array, end: number): Tails {
  let { timeMs } = tails;
  for (let at = 0; at < data.length; at += HEAD_RECORD_BYTES) {
    const head = decodeHeadRecord(data.subarray(at, at + HEAD_RECORD_BYTES));
    timeMs = Math.max(timeMs, head?.updatedAt ?? 0);
  }
  return { ...tails, timeMs, nextContext: Math.max(tails.nextContext, end / HEAD_RECORD_BYTES) };
}

function advanceByName(tails: Tails, path: string, offset: number, data: Uint8Array): Tails {
  // An open turn has its id and no record yet: the id counts as taken.
  const open = openTurnNumber(path);
  if (open !== undefined) return { ...tails, nextTurn: Math.max(tails.nextTurn, open + 1) };
  const number = packNumber(path);
  if (number === undefined) return tails;
  return growPack(tails, number, offset, data);
}

function growPack(tails: Tails, number: number, offset: number, data: Uint8Array): Tails {
  const before = tails.packs.find((pack) => pack.number === number);
  // Erasing overwrites records in place: the end of no pack moves, and a closed pack stays closed.
  const inside = before === undefined ? offset > 0 : offset < before.length;
  if (inside) return tails;
  let records = before?.records ?? 0;
  let bulk = before?.bulk ?? false;
  for (const item of scanPack(data, offset)) {
    if (item.kind === 'blob') records += 1;
    if (item.kind === 'header') bulk = item.bulk;
    if (item.kind === 'end') return withPack(tails, number, undefined);
  }
  return withPack(tails, number, { number, bulk, length: offset + data.length, records });
}

function extendPack(tails: Tails, path: string, length: number): Tails {
  const number = packNumber(path);
  if (number === undefined) return tails;
  const before = tails.packs.find((pack) => pack.number === number);
  const records = before?.records ?? 0;
  return withPack(tails, number, { number, bulk: true, length, records });
}

/** Replaces the tail of one pack, or drops it when the pack is closed. */
export function withPack(tails: Tails, number: number, pack: PackTail | undefined): Tails {
  const others = tails.packs.filter((known) => known.number !== number);
  if (pack !== undefined) others.push(pack);
  return { ...tails, nextPack: Math.max(tails.nextPack, number + 1), packs: others };
}
