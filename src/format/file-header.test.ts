import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { u32 } from '../../test/golden/arbitraries.ts';
import { recordSuite } from '../../test/golden/record-suite.ts';
import { seal } from './bytes.ts';
import {
  FILE_MAGIC,
  OPEN_FILE_HEADER_BYTES,
  PackKind,
  decodeFileHeader,
  encodeFileHeader,
} from './file-header.ts';
import type { FileHeader } from './file-header.ts';

const TURNS_HEX =
  '5154524e010080000000000000000000000000000000000000000000000000000000000000000000' +
  '00000000000000000000000000000000000000000000000000000000000000000000000000000000' +
  '00000000000000000000000000000000000000000000000000000000000000000000000000000000' +
  '0000000031f2de9a';

const HEADS_HEX =
  '51484544010040000000000000000000000000000000000000000000000000000000000000000000' +
  '00000000000000000000000000000000000000008b87effa';

const PATCHES_HEX =
  '51504154010060000000000000000000000000000000000000000000000000000000000000000000' +
  '00000000000000000000000000000000000000000000000000000000000000000000000000000000' +
  '0000000000000000000000009b4acbfb';

const DOCS_HEX = '51444f4301000000000000000000000000000000000000000000000000a5d272';

const PACK_HEX = '5150414b01000000010000000700000000000000000000000000000099c58593';

const ALIASES_HEX =
  '51414c490100480000000000000000000000000000000000000000000000000000000000' +
  '000000000000000000000000000000000000000000000000000000000000000044ee2716';

const PACK: FileHeader = {
  magic: FILE_MAGIC.pack,
  recordBytes: 0,
  kind: PackKind.bulk,
  number: 7,
};

function plain(magic: FileHeader['magic'], recordBytes: number): FileHeader {
  return { magic, recordBytes, kind: 0, number: 0 };
}

describe('file header', () => {
  recordSuite<FileHeader>({
    golden: [
      { hex: TURNS_HEX, value: plain(FILE_MAGIC.turns, 128) },
      { hex: HEADS_HEX, value: plain(FILE_MAGIC.heads, 64) },
      { hex: PATCHES_HEX, value: plain(FILE_MAGIC.patches, 96) },
      { hex: ALIASES_HEX, value: plain(FILE_MAGIC.aliases, 72) },
      { hex: DOCS_HEX, value: plain(FILE_MAGIC.docs, 0) },
      { hex: PACK_HEX, value: PACK },
    ],
    values: fc.record({
      magic: fc.constantFrom(...Object.values(FILE_MAGIC)),
      recordBytes: fc.constantFrom(0, 64, 72, 96, 128),
      kind: u32,
      number: u32,
    }),
    encode: (header) => encodeFileHeader(header, header.recordBytes || OPEN_FILE_HEADER_BYTES),
    decode: decodeFileHeader,
  });

  it('takes no header of another magic or version, and none sealed over a reserved byte', () => {
    for (const offset of [0, 4, 16, 27]) {
      const header = Buffer.from(PACK_HEX, 'hex');
      header[offset] = 9;
      seal(header);
      expect(decodeFileHeader(header)).toBeUndefined();
    }
  });
});
