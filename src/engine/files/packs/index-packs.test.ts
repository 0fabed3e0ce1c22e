import { describe, expect, it } from 'vitest';
import { hashBytes } from '../../../base/hash.ts';
import { BlobCodec, encodeBlobRecord } from '../../../format/blob-record.ts';
import type { JournalWrite } from '../../../format/journal-frame.ts';
import { MapShelf } from '../../../testing/map-shelf.ts';
import { Index } from '../index/store-index.ts';
import { packFile } from './pack-file.ts';
import { indexPackWrite as indexWrite } from './packs.ts';

function record(text: string, codec: 0 | 3 = BlobCodec.raw): Uint8Array {
  const bytes = Buffer.from(text);
  const stored = codec === BlobCodec.raw ? bytes : new Uint8Array(bytes.length);
  return encodeBlobRecord({ codec, rawLength: bytes.length, hash: hashBytes(bytes), stored });
}

function writeTo(pack: number, offset: number, data: Uint8Array): JournalWrite {
  return { kind: 'bytes', path: packFile(pack), offset, data };
}

function filled(): { index: Index; shelf: MapShelf } {
  const shelf = new MapShelf();
  const index = new Index({ shelf, positions: () => ({ seq: 7 }) });
  indexWrite(index, writeTo(1, 100, record('one')));
  indexWrite(index, writeTo(1, 200, record('another')));
  indexWrite(index, writeTo(2, 100, record('third')));
  return { index, shelf };
}

describe('what the index learns from frames that it missed', () => {
  it('counts blobs in', () => {
    expect(filled().index.totals).toMatchObject({ blobs: 3, blobBytes: 15, storedBytes: 171 });
  });

  it('counts the blobs of a removed pack out', () => {
    const { index } = filled();
    indexWrite(index, { kind: 'remove', path: packFile(1) });
    expect(index.totals).toMatchObject({ blobs: 1, blobBytes: 5, storedBytes: 57 });
    expect(index.findBlob(hashBytes(Buffer.from('one')))).toBeUndefined();
  });

  it('counts an erased blob out, and once', () => {
    const { index, shelf } = filled();
    for (let times = 0; times < 2; times += 1) {
      indexWrite(index, writeTo(1, 200, record('another', BlobCodec.erased)));
      expect(index.totals).toMatchObject({ blobs: 2, blobBytes: 8, storedBytes: 112 });
    }
    // As one change: a process that dies now leaves both or none.
    expect(shelf.totals()).toEqual(index.totals);
    expect(shelf.positions()).toEqual({ seq: 7 });
  });

  it('leaves another place of an erased blob alone', () => {
    const { index } = filled();
    indexWrite(index, writeTo(3, 100, record('another', BlobCodec.erased)));
    expect(index.totals.blobs).toBe(3);
    expect(index.findBlob(hashBytes(Buffer.from('another')))).toMatchObject({ pack: 1 });
  });
});
