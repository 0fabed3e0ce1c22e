import type { JournalWrite } from '../../../format/journal-frame.ts';
import { checkLengths } from '../truth/check.ts';
import type { PackTail, Tails } from '../truth/state.ts';
import { cannot, type Truth } from '../truth/truth.ts';
import { checkAliases, checkPacks } from './check-packs.ts';
import { COPY_PACKS } from './copy-packs.ts';
import {
  ALIAS_RECORDS,
  withPack,
  PACKS_FOLDER,
  packFile,
  packNumber,
  scanPack,
} from './pack-file.ts';
import { ERASED_FILE, checkErased } from './erased-blobs.ts';
import { indexExtent, indexPackWrite, rebuildPacks } from './index-packs.ts';

// Blobs: packs of records, the SHA-256 names of some of them, and which were erased.    docs/format/blobs.md
// Invariants
// - Records are only appended, and count up to the tail of their pack. A closed pack ends with an end record.
// - A record is overwritten in place only when its blob is erased, by one of the same length, and the erasure is
//   noted in the same frame. A pack goes only in one frame, after its living records were copied.
// - The bytes of a bulk pack are durable before the frame that names them.
// - A blob may have several records, and each is as good as the other.

export const PACKS: Truth = {
  name: 'packs',
  folders: [PACKS_FOLDER],
  files: [ALIAS_RECORDS.own],
  owns: (path) => path === ERASED_FILE || packNumber(path) !== undefined,
  *lengths(tails) {
    yield ALIAS_RECORDS.lengthBy(tails);
    for (const { number, bulk, length } of tails.packs) if (!bulk) yield [packFile(number), length];
  },
  advance: advancePacks,
  replay({ index, files }, write) {
    if (write.path === ALIAS_RECORDS.name) {
      for (const { sha256, hash } of ALIAS_RECORDS.inWrite(write)) index.addSha256(sha256, hash);
    }
    return write.kind === 'extent'
      ? indexExtent(files, index, write)
      : indexPackWrite(index, write);
  },
  async rebuild(rebuild) {
    await ALIAS_RECORDS.rebuild(rebuild, 'aliases', (alias) => {
      if (alias !== undefined) rebuild.index.addSha256(alias.sha256, alias.hash);
      return alias !== undefined;
    });
    await rebuildPacks(rebuild);
  },
  async check(check) {
    await checkLengths(check, PACKS.lengths(check.snapshot.tails));
    await checkErased(check);
    await checkPacks(check);
    await checkAliases(check);
  },
  mend: cannot('no other truth knows the bytes of a blob'),
  copy: COPY_PACKS,
};

function advancePacks(tails: Tails, write: JournalWrite): Tails {
  const number = packNumber(write.path);
  if (write.kind === 'extent' && number !== undefined) {
    const records = tails.packs.find((pack) => pack.number === number)?.records ?? 0;
    const length = write.offset + write.length;
    return withPack(tails, number, { number, bulk: true, length, records });
  }
  if (write.path === ALIAS_RECORDS.name) return ALIAS_RECORDS.advance(tails, write);
  if (write.kind !== 'bytes' || number === undefined) return tails;
  return growPack(tails, number, write.offset, write.data);
}

function growPack(tails: Tails, number: number, offset: number, data: Uint8Array): Tails {
  const before: PackTail | undefined = tails.packs.find((pack) => pack.number === number);
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
