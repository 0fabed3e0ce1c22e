import { LruCache } from '../../../base/lru-cache.ts';
import { corrupt } from '../disk/io-error.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import type { DocPlace } from '../index/shelf.ts';
import { isFileName, isName } from '../../names.ts';
import {
  applyDocDifference,
  decodeDocDifference,
  decodeDocRecord,
  DOC_HEADER_BYTES,
  type DocDifference,
  type DocRecord,
  docRecordLength,
} from '../../../format/doc-record.ts';
import { OPEN_FILE_HEADER_BYTES } from '../../../format/file-header.ts';
import { contextOfMoves, decodeHeadMoves, type HeadMove } from '../../../format/head-moves.ts';

const PIECE_BYTES = 1024 * 1024;

/** A record that claims to be longer has a damaged length. */
const RECORD_BYTES_MAX = 512 * 1024 * 1024;

const MAGIC: Buffer = Buffer.from('QDRC', 'latin1');

export const DOCS_FILE = 'docs/docs.log';

/** Documents that the engine keeps for contexts. Users cannot name them. */
export function contextDoc(context: number): string {
  return `contexts/${context}`;
}

/** The context whose document has this name. Undefined for any other document. */
export function contextOf(doc: string): number | undefined {
  const digits = /^contexts\/(\d+)$/.exec(doc)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/** The newest version of a document with its whole content. */
export async function readDoc(
  files: Pick<StoreFiles, 'read'>,
  name: string,
  place: DocPlace,
): Promise<DocRecord> {
  const record = decodeDocRecord(await files.read(DOCS_FILE, place.offset, place.length));
  if (record !== undefined && record.name === name && record.version === place.version) {
    return readWhole(files, record, place.offset);
  }
  throw corrupt(DOCS_FILE, place.offset, `version ${place.version} of document ${name} is damaged`);
}

/** The same record with its whole content, assembled from all its parts. */
export async function readWhole(
  files: Pick<StoreFiles, 'read'>,
  record: DocRecord,
  offset: number,
): Promise<DocRecord> {
  const { difference: _, ...newest } = record;
  const differences: DocDifference[] = [];
  let at = offset;
  let part: DocRecord | undefined = record;
  while (part?.difference === true) {
    const difference = decodeDocDifference(part.content ?? '');
    // A difference builds on an earlier record, so the way back has an end.
    if (difference === undefined || difference.offset >= at) throw lost(record, at);
    differences.push(difference);
    at = difference.offset;
    part = decodeDocRecord(await files.read(DOCS_FILE, at, difference.length));
    if (part?.name !== record.name) throw lost(record, at);
  }
  let content = part?.content;
  for (const difference of differences.reverse()) {
    content = content === undefined ? undefined : applyDocDifference(content, difference);
  }
  if (content === undefined && differences.length > 0) throw lost(record, at);
  return { ...newest, content };
}

function lost({ name, version }: DocRecord, offset: number): Error {
  const what = `version ${version} of document ${name} stands on a record that is damaged`;
  return corrupt(DOCS_FILE, offset, what);
}

export type DocItem =
  | {
      readonly kind: 'doc';
      readonly record: DocRecord;
      readonly offset: number;
      readonly length: number;
      /** Valid until the next item. */
      readonly bytes: Uint8Array;
    }
  | { readonly kind: 'bad'; readonly offset: number; readonly length: number };

export type GoodDoc = DocItem & { kind: 'doc' };

/** Notes where a head was moved, if the document is about that. The last one of a context counts. */
export function noteMoves(moves: Map<number, HeadMove>, { record }: GoodDoc): void {
  const context = contextOfMoves(record.name);
  if (context === undefined) return;
  const found = record.content === undefined ? undefined : decodeHeadMoves(record.content);
  if (found === undefined) moves.delete(context);
  else moves.set(context, found.move);
}

/** Walks every record of docs.log up to `end`. After a bad record it continues at the next readable one. */
export async function* walkDocs(
  files: StoreFiles,
  end: number,
  start: number = OPEN_FILE_HEADER_BYTES,
): AsyncGenerator<DocItem> {
  let pieceBytes = PIECE_BYTES;
  let offset = start;
  while (offset < end) {
    const piece = await files.read(DOCS_FILE, offset, Math.min(pieceBytes, end - offset));
    const from = offset;
    for (const item of docsIn(piece, from)) {
      yield item;
      offset = item.offset + item.length;
    }
    if (offset > from) continue;
    const length = docRecordLength(piece.subarray(0, DOC_HEADER_BYTES)) ?? 0;
    if (length > pieceBytes && length <= Math.min(end - offset, RECORD_BYTES_MAX)) {
      // One document is larger than the piece, so the walk reads a larger piece.
      pieceBytes = length;
      continue;
    }
    const next = await nextDoc(files, offset + 1, end);
    yield { kind: 'bad', offset, length: next - offset };
    offset = next;
    pieceBytes = PIECE_BYTES;
  }
}

/** The whole records at the start of `piece`, which is at `offset` of docs.log. */
export function* docsIn(piece: Uint8Array, offset: number): Generator<GoodDoc> {
  for (let at = 0; at < piece.length;) {
    const length = docRecordLength(piece.subarray(at, at + DOC_HEADER_BYTES));
    if (length === undefined || at + length > piece.length) return;
    const bytes = piece.subarray(at, at + length);
    const record = decodeDocRecord(bytes);
    if (record === undefined || !hasOwnName(record)) return;
    yield { kind: 'doc', record, offset: offset + at, length, bytes };
    at += length;
  }
}

/** A published document is written to the file of its name. So a forged name must not lead to any other file. */
function hasOwnName({ name, published }: DocRecord): boolean {
  if (published) return isFileName(name);
  return isName(name) || contextOf(name) !== undefined;
}

async function nextDoc(files: StoreFiles, from: number, end: number): Promise<number> {
  for (let start = from; start < end; start += PIECE_BYTES) {
    const piece = await files.read(DOCS_FILE, start, Math.min(PIECE_BYTES + 3, end - start));
    for (let at = piece.indexOf(MAGIC); at !== -1; at = piece.indexOf(MAGIC, at + 1)) {
      if (await isDoc(files, start + at, end)) return start + at;
    }
  }
  return end;
}

async function isDoc(files: StoreFiles, offset: number, end: number): Promise<boolean> {
  const length = docRecordLength(await files.read(DOCS_FILE, offset, DOC_HEADER_BYTES));
  if (length === undefined || length > Math.min(end - offset, RECORD_BYTES_MAX)) return false;
  const record = decodeDocRecord(await files.read(DOCS_FILE, offset, length));
  return record !== undefined && hasOwnName(record);
}

// The newest contents of published documents, for writing the next version as a difference. Only durable contents
// are here, so a difference never builds on data that could still be lost. A document that is not here is written
// whole.

const CACHE_BYTES = 4 * 1024 * 1024;
/** Smaller documents are written whole: the difference would hardly be smaller. */
const CONTENT_CHARS_MIN = 1024;
/** The most records that a reader may have to go back through. */
const CHAIN_MAX = 256;

export interface DocBase {
  readonly place: DocPlace;
  readonly content: string;
  /** The number of differences between this version and a whole record. */
  readonly chain: number;
}

export class DocBases {
  readonly #cache = new LruCache<string, DocBase>(CACHE_BYTES, ({ content }) => content.length * 2);

  /** The base that the next version of a document may be written against. */
  find(name: string): DocBase | undefined {
    const base = this.#cache.get(name);
    return base !== undefined && base.chain < CHAIN_MAX ? base : undefined;
  }

  /** The content of the newest version, from memory where known. `isNewest` is called after the read. */
  async read(
    files: StoreFiles,
    name: string,
    place: DocPlace,
    isNewest: () => boolean,
  ): Promise<string> {
    const known = this.#cache.get(name);
    if (known?.place.offset === place.offset) return known.content;
    const { content = 'null', published } = await readDoc(files, name, place);
    // The length of the chain was not counted, so the next version is written whole.
    if (published && isNewest()) this.note(name, { place, content, chain: CHAIN_MAX });
    return content;
  }

  /** Undefined: the document is gone. */
  note(name: string, base: DocBase | undefined): void {
    const kept = base !== undefined && base.content.length >= CONTENT_CHARS_MIN;
    if (kept) this.#cache.set(name, base);
    else this.#cache.delete(name);
  }
}
