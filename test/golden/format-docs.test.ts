import { readFileSync, readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { toContextId } from '../../src/base/brand.ts';
import {
  decodeAliasRecord,
  decodeBlobRecord,
  decodeChunkList,
  decodeErasedRecord,
  decodePackEnd,
  encodeAliasRecord,
  encodeBlobRecord,
  encodeChunkList,
  encodeErasedRecord,
  encodePackEnd,
} from '../../src/format/blob-record.ts';
import {
  decodeCheckpoint,
  decodeFrameBody,
  decodeFrameHeader,
  decodeMark,
  encodeCheckpoint,
  encodeFrame,
  encodeMark,
} from '../../src/format/journal-frame.ts';
import {
  decodeCollectedMap,
  decodeDelta,
  decodeTurnRecord,
  decodeTypeLine,
  encodeCollectedMap,
  encodeDelta,
  encodeTurnRecord,
  encodeTypeLine,
} from '../../src/format/turn-record.ts';
import { decodeDocRecord, encodeDocRecord } from '../../src/format/doc-record.ts';
import { decodeFileHeader, encodeFileHeader } from '../../src/format/file-header.ts';
import { decodeFormatFile, encodeFormatFile } from '../../src/format/format-file.ts';
import { decodeHeadRecord, encodeHeadRecord } from '../../src/format/head-record.ts';
import { idempotencyHash, keyHashToBytes } from '../../src/format/idempotency.ts';
import { decodeLogExtent, encodeLogExtent } from '../../src/format/log-extent.ts';
import { decodePatchRecord, encodePatchRecord } from '../../src/format/patch-record.ts';

// The documents say what the bytes are, the code reads and writes them. Each example in docs/format is
// decoded and encoded again here, so that text and code cannot part.

type Again = (bytes: Buffer) => Uint8Array;

function again<T>(
  decode: (bytes: Uint8Array) => T | undefined,
  encode: (value: T) => Uint8Array,
): Again {
  return (bytes) => {
    const value = decode(bytes);
    if (value === undefined) throw new Error('the example is not intact');
    return encode(value);
  };
}

/** What each example is, by the words between "Example" and the next comma or colon. */
const EXAMPLES: Record<string, Again> = {
  FORMAT: again(decodeFormatFile, encodeFormatFile),
  'file header': (bytes) =>
    again(decodeFileHeader, (header) => encodeFileHeader(header, bytes.length))(bytes),
  'blob record': again(decodeBlobRecord, encodeBlobRecord),
  'chunk list': again(decodeChunkList, encodeChunkList),
  'pack end': again(decodePackEnd, encodePackEnd),
  'alias record': again(decodeAliasRecord, encodeAliasRecord),
  'erased record': again(decodeErasedRecord, encodeErasedRecord),
  'collected map': again(decodeCollectedMap, encodeCollectedMap),
  'turn record': again(decodeTurnRecord, encodeTurnRecord),
  'idempotency hash': () => keyHashToBytes(idempotencyHash(toContextId(2), 'retry-1')),
  'type line': again(decodeTypeLine, encodeTypeLine),
  'open turn record': again(decodeTurnRecord, encodeTurnRecord),
  delta: again((bytes) => decodeDelta(bytes), encodeDelta),
  'head record': again(decodeHeadRecord, encodeHeadRecord),
  'patch record': again(decodePatchRecord, encodePatchRecord),
  'doc record': again(decodeDocRecord, encodeDocRecord),
  'doc record as a difference': again(decodeDocRecord, encodeDocRecord),
  'log extent': again(decodeLogExtent, encodeLogExtent),
  frame: frameAgain,
  checkpoint: again(decodeCheckpoint, encodeCheckpoint),
  mark: again(decodeMark, encodeMark),
};

/** The document leaves out the padding. */
function frameAgain(bytes: Buffer): Uint8Array {
  const header = decodeFrameHeader(bytes);
  const writes = header && decodeFrameBody(header, bytes.subarray(32));
  if (header === undefined || writes === undefined) throw new Error('the example is not intact');
  return encodeFrame(header.seq, writes).subarray(0, bytes.length);
}

const FOLDER = new URL('../../docs/format/', import.meta.url);
const documents = readdirSync(FOLDER).map((name) => readFileSync(new URL(name, FOLDER), 'utf8'));
const examples = documents.flatMap((text) =>
  [...text.matchAll(/^Example ([^,:]+)[^:]*: `([0-9a-f]+)`$/gm)].map(([, name, hex]) => ({
    name: name ?? '',
    hex: hex ?? '',
  })),
);

describe('docs/format', () => {
  it('has one example of every record, and none that nobody reads', () => {
    expect(examples.map(({ name }) => name).sort()).toEqual(Object.keys(EXAMPLES).sort());
    const lines = documents.flatMap((text) => text.match(/^Example\b/gm) ?? []);
    expect(lines.length).toBe(examples.length);
  });

  it.each(examples)('shows the bytes of a $name', ({ name, hex }) => {
    const encoded = EXAMPLES[name]?.(Buffer.from(hex, 'hex')) ?? new Uint8Array();
    expect(Buffer.from(encoded).toString('hex')).toBe(hex);
  });
});
