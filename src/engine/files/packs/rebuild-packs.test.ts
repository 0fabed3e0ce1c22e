import { describe, expect, it } from 'vitest';
import { hashBytes } from '../../../base/hash.ts';
import { encodeBlobRecord, encodePackEnd, PACK_END_BYTES } from '../../../format/blob-record.ts';
import { PackKind } from '../../../format/file-header.ts';
import { MemoryIo } from '../../../testing/disk/memory-io.ts';
import { MapShelf } from '../../../testing/map-shelf.ts';
import { Index } from '../index/store-index.ts';
import { packFile, encodePackHeader } from './pack-file.ts';
import { StoreFiles } from '../disk/store-files.ts';
import { DamageReport } from '../truth/state.ts';
import { rebuildPacks } from './packs.ts';

const RAW = new TextEncoder().encode('copied by a collection');
const HASH = hashBytes(RAW);
const RECORD = encodeBlobRecord({ codec: 0, rawLength: RAW.length, hash: HASH, stored: RAW });
const FILLED = Buffer.concat([encodePackHeader(1, PackKind.bulk), RECORD]);
const END = encodePackEnd({ count: 0, length: FILLED.length });

/** Builds the index of a store with one bulk pack that takes no records any more. */
async function rebuild(
  rest: Uint8Array,
  isUsed = false,
): Promise<{ found: boolean; damage: readonly number[] }> {
  const io = new MemoryIo();
  const files = new StoreFiles(io, '/store');
  for (const folder of ['/store', '/store/blobs']) await io.mkdir(folder);
  const file = await io.open(files.pathOf(packFile(1)), 'create');
  await file.write(Buffer.concat([FILLED, rest]), 0);
  await file.close();
  const index = new Index({ shelf: new MapShelf(), positions: () => ({ seq: 1, damaged: 0 }) });
  const damage = new DamageReport();
  const none = { nextTurn: 1, nextContext: 1, nextPatch: 1, nextAlias: 1, timeMs: 0 };
  const tails = { ...none, docsBytes: 32, typesBytes: 0, nextPack: 2, packs: [] };
  const isOpenTurn = (): boolean => false;
  const progress = undefined;
  await rebuildPacks({
    files,
    tails,
    index,
    damage,
    progress,
    isOpenTurn,
    moves: new Map(),
    isUsed: () => isUsed,
  });
  const found = index.findBlob(HASH) !== undefined;
  await files.close();
  return { found, damage: damage.places.map(({ offset }) => offset) };
}

describe('a bulk pack without a tail', () => {
  it('was closed when it has an end', async () => {
    expect(await rebuild(END)).toEqual({ found: true, damage: [] });
  });

  it('was closed when its end is damaged, and the damage is told', async () => {
    for (let at = 0; at < PACK_END_BYTES; at += 1) {
      const end = Uint8Array.from(END);
      end[at] = (end[at] ?? 0) ^ 0x55;
      expect(await rebuild(end), `byte ${at}`).toEqual({ found: true, damage: [FILLED.length] });
    }
    const half = END.slice(0, 24);
    expect(await rebuild(half)).toEqual({ found: true, damage: [FILLED.length] });
  });

  it('is what a put left that did not finish, whatever its last bytes are', async () => {
    const torn = RECORD.slice(0, 60);
    for (const rest of [new Uint8Array(), new Uint8Array(4096), torn, Buffer.concat([torn, END])]) {
      expect(await rebuild(rest)).toEqual({ found: false, damage: [] });
    }
  });

  it('counts when blobs were found in it before', async () => {
    expect(await rebuild(new Uint8Array(64), true)).toEqual({
      found: true,
      damage: [FILLED.length],
    });
    expect(await rebuild(new Uint8Array(), true)).toEqual({ found: true, damage: [] });
  });
});
