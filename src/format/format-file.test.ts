import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { text } from '../../test/golden/arbitraries.ts';
import { recordSuite } from '../../test/golden/record-suite.ts';
import { STORE_FORMAT, decodeFormatFile, encodeFormatFile } from './format-file.ts';
import type { FormatFile } from './format-file.ts';

const LINE =
  '{"check":"44c57134","createdAt":"2026-11-15T12:00:00.000Z","form' +
  'at":1,"store":"01JCQ0M8000000000000000000"}\n';
const NEWER_LINE =
  '{"check":"4418bd4e","createdAt":"2026-11-15T12:00:00.000Z","extr' +
  'a":true,"format":2,"store":"01JCQ0M8000000000000000000"}\n';

const FILE: FormatFile = {
  format: STORE_FORMAT,
  createdAt: '2026-11-15T12:00:00.000Z',
  store: '01JCQ0M8000000000000000000',
};

describe('FORMAT', () => {
  recordSuite<FormatFile>({
    golden: [{ hex: Buffer.from(LINE).toString('hex'), value: FILE }],
    values: fc.record({ format: fc.integer({ min: 1 }), createdAt: text, store: text }),
    encode: encodeFormatFile,
    decode: decodeFormatFile,
  });

  it('reads a newer format with fields it does not know', () => {
    expect(decodeFormatFile(Buffer.from(NEWER_LINE))).toEqual({ ...FILE, format: 2 });
  });

  it('takes no other JSON, even when it means the same', () => {
    for (const line of ['[]\n', '1\n', 'null\n', '{}\n', LINE.replace(',', ', '), ` ${LINE}`]) {
      expect(decodeFormatFile(Buffer.from(line))).toBeUndefined();
    }
  });

  it('takes no fields of the wrong kind, even with a good check', () => {
    for (const wrong of [
      { format: 0 },
      { format: 1.5 },
      { format: '1' },
      { createdAt: 1 },
      { store: null },
    ]) {
      const bytes = encodeFormatFile({ ...FILE, ...wrong } as FormatFile);
      expect(decodeFormatFile(bytes)).toBeUndefined();
    }
  });
});
