import { packFile } from '../../src/engine/files/packs/pack-file.ts';
import type { Damage } from './damage.ts';
import type { Planter } from './planter.ts';
import { BULK_PACK, CLOSED_PACK } from './sample-store.ts';

const PACK = packFile(1);
const BULK = packFile(BULK_PACK);
const CLOSED = packFile(CLOSED_PACK);

function inPack(
  name: string,
  text: string,
  change: (planter: Planter, at: { offset: number; length: number }) => Promise<void>,
): Damage {
  const plant = async (planter: Planter): Promise<number> => {
    const { offset, bytes } = planter.recordOf(1, text);
    await change(planter, { offset, length: bytes });
    return offset;
  };
  return { name, file: PACK, plant };
}

function forgeChunkList(name: string, change: (record: Buffer) => void): Damage {
  const plant = async (planter: Planter): Promise<number> => {
    const list = planter.records(1).find((item) => item.codec === 2);
    const place = { offset: list?.offset ?? 0, length: list?.bytes ?? 0 };
    await planter.forge(PACK, place, change);
    return place.offset;
  };
  return { name, file: PACK, forged: true, plant };
}

export const DAMAGE_TO_PACKS: readonly Damage[] = [
  inPack('bytes of a blob changed', 'better words', (planter, { offset }) =>
    planter.flip(PACK, offset + 50),
  ),
  inPack('length of a blob changed', 'better words', (planter, { offset }) =>
    planter.flip(PACK, offset + 13),
  ),
  inPack('magic of a blob changed', 'better words', (planter, { offset }) =>
    planter.flip(PACK, offset),
  ),
  inPack('blob with the hash of another', 'withdrawn', (planter, place) =>
    planter.forge(PACK, place, (record) => record.write('withdrawm', 48)),
  ),
  inPack('blob zeroed', 'keyed', (planter, { offset, length }) =>
    planter.write(PACK, offset, new Uint8Array(length)),
  ),
  {
    name: 'packed blob that does not unpack',
    file: PACK,
    plant: async (planter) => {
      const packed = planter.records(1).find((item) => item.codec === 1);
      const place = { offset: packed?.offset ?? 0, length: packed?.bytes ?? 0 };
      await planter.forge(PACK, place, (record) => record.fill(0xff, 52, 70));
      return place.offset;
    },
  },
  {
    name: 'header of a pack changed',
    file: PACK,
    offset: 0,
    plant: (planter) => planter.flip(PACK, 8),
  },
  {
    name: 'header of another pack',
    file: PACK,
    offset: 0,
    forged: true,
    plant: (planter) =>
      planter.forge(PACK, { offset: 0, length: 32 }, (header) => header.writeUInt32LE(7, 12)),
  },
  { name: 'pack missing', file: PACK, offset: 0, plant: (planter) => planter.remove(PACK) },
  {
    name: 'closed pack missing',
    file: CLOSED,
    offset: 0,
    forged: true,
    plant: (planter) => planter.remove(CLOSED),
  },
  {
    name: 'pack cut',
    file: PACK,
    plant: async (planter) => {
      const last = planter.records(1).at(-2)?.offset ?? 0;
      await planter.cut(PACK, last + 10);
      return last;
    },
  },
  {
    name: 'end of a closed pack changed',
    file: CLOSED,
    plant: async (planter) => {
      const at = planter.read(CLOSED).length - 28;
      await planter.flip(CLOSED, at + 9);
      return at;
    },
  },
  {
    name: 'end with another count',
    file: CLOSED,
    forged: true,
    plant: async (planter) => {
      const offset = planter.read(CLOSED).length - 28;
      await planter.forge(CLOSED, { offset, length: 28 }, (end) => end.writeUInt32LE(9, 8));
      return offset;
    },
  },
  {
    name: 'bytes behind the end of a closed pack',
    file: CLOSED,
    forged: true,
    plant: async (planter) => {
      const { length } = planter.read(CLOSED);
      await planter.write(CLOSED, length, new Uint8Array(40));
      return length + 40;
    },
  },
  {
    name: 'chunk of a large blob changed',
    file: BULK,
    plant: async (planter) => {
      const offset = planter.records(BULK_PACK)[2]?.offset ?? 0;
      await planter.flip(BULK, offset + 5000);
      return offset;
    },
  },
  forgeChunkList('chunk list that does not add up', (record) => record.writeUInt32LE(77, 48 + 36)),
  forgeChunkList('chunk that is not there', (record) => record.fill(7, 52, 84)),
];
