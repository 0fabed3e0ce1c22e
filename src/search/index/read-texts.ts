import type { TextDocument, TextPage } from '../../engine/texts.ts';
import { extractOf, toExtracted, type Extracted, type Extractor } from '../text/extract.ts';
import type { IndexChange, IndexedText } from '../contract/search-index.ts';

/** Finds the text of a document: by the extractor of its type, or by default. */
export type ReadText = (document: TextDocument) => Extracted;

export function readTextsWith(extractors: Readonly<Record<string, Extractor>>): ReadText {
  const own = new Map(Object.entries(extractors));
  return ({ type, value }) => {
    const extractor = own.get(type);
    return extractor === undefined ? extractOf(type, value) : toExtracted(extractor(value));
  };
}

export function toIndexChange(
  kind: string,
  change: TextPage['changes'][number],
  readText: ReadText,
): IndexChange {
  return 'put' in change ? { put: toIndexed(kind, change.put, readText) } : change;
}

function toIndexed(kind: string, document: TextDocument, readText: ReadText): IndexedText {
  const { texts, tools = [], ...said } = readSafely(document, readText);
  const role = document.role ?? said.role;
  const model = document.model ?? said.model;
  const { thread, ref, depth, at, type, blob } = document;
  return {
    kind: document.kind ?? kind,
    thread,
    ref,
    depth: toWhole(depth),
    at: toWhole(at),
    type,
    ...(role !== undefined && { role }),
    ...(model !== undefined && { model }),
    ...(blob !== undefined && { blob: blobPrefix(blob) }),
    tools,
    texts,
  };
}

/** Times of session files are whatever a program wrote. */
function toWhole(value: number): number {
  const whole = Math.trunc(value);
  return Number.isSafeInteger(whole) ? whole : 0;
}

/** An extractor that fails leaves its document without text, and the others alone. */
function readSafely(document: TextDocument, readText: ReadText): Extracted {
  try {
    return readText(document);
  } catch {
    return { texts: [] };
  }
}

/** The first 48 bits of a hash. */
export function blobPrefix(hash: string): number {
  return Number.parseInt(hash.slice(0, 12), 16);
}
