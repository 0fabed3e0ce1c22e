import { crc32 } from '../../src/format/bytes.ts';
import { toHash } from '../../src/base/brand.ts';
import { NO_TOTALS, type ShelfBatch } from '../../src/engine/files/index/shelf.ts';
import { decodeDocRecord, docRecordLength } from '../../src/format/doc-record.ts';
import type { Damage } from './damage.ts';
import type { Planter } from './planter.ts';

// Damage to documents, logs and the index.

const DOCS = 'docs/docs.log';
const EVENTS = 'logs/events';
const EXTENTS = 'extents/logs/events.ext';
const ELSEWHERE = toHash('ab'.repeat(32));

const docs: Damage[] = [
  {
    name: 'document changed',
    file: DOCS,
    plant: async (planter) => {
      const { offset } = docAt(planter, 'settings.json', 1);
      await planter.flip(DOCS, offset + 35);
      return offset;
    },
  },
  {
    name: 'version that does not rise',
    file: DOCS,
    forged: true,
    plant: async (planter) => {
      const place = docAt(planter, 'settings.json', 2);
      await planter.forge(DOCS, place, (record) => record.writeUInt32LE(1, 12));
      return place.offset;
    },
  },
  {
    name: 'document that is not JSON',
    file: DOCS,
    forged: true,
    plant: async (planter) => {
      const place = docAt(planter, 'settings.json', 1);
      await planter.forge(DOCS, place, (record) => record.write('}', record.length - 7));
      return place.offset;
    },
  },
  {
    name: 'docs.log cut',
    file: DOCS,
    plant: async (planter) => {
      const { offset } = docAt(planter, 'gone.json', 1);
      await planter.cut(DOCS, offset + 3);
      return offset;
    },
  },
  {
    name: 'published file changed',
    file: 'out/state.json',
    offset: 0,
    stale: true,
    plant: (planter) => planter.flip('out/state.json', 3),
  },
  {
    name: 'published file gone',
    file: 'out/state.json',
    offset: 0,
    stale: true,
    plant: (planter) => planter.remove('out/state.json'),
  },
];

/** The place of a version of a document. */
function docAt(
  planter: Planter,
  name: string,
  version: number,
): { offset: number; length: number } {
  const bytes = planter.read(DOCS);
  for (let offset = 32; offset < bytes.length;) {
    const length = docRecordLength(bytes.subarray(offset)) ?? Infinity;
    const record = decodeDocRecord(bytes.subarray(offset, offset + length));
    if (record?.name === name && record.version === version) return { offset, length };
    offset += length;
  }
  throw new Error(`there is no version ${version} of ${name}`);
}

const logs: Damage[] = [
  { name: 'line changed', file: EVENTS, offset: 18, plant: (planter) => planter.flip(EVENTS, 20) },
  {
    name: 'log cut',
    file: EVENTS,
    offset: 40,
    mended: true,
    plant: (planter) => planter.cut(EVENTS, 40),
  },
  {
    name: 'log edited by hand',
    file: EVENTS,
    offset: 18,
    mended: true,
    plant: async (planter) => {
      const bytes = planter.read(EVENTS);
      const edited = [bytes.subarray(0, 20), Buffer.from('what a day'), bytes.subarray(25)];
      await planter.write(EVENTS, 0, Buffer.concat(edited));
    },
  },
  {
    name: 'bytes behind the end of a log',
    file: EVENTS,
    offset: 54,
    mended: true,
    plant: (planter) => planter.write(EVENTS, 54, Buffer.from('"more"\n')),
  },
  {
    name: 'extent changed',
    file: EXTENTS,
    offset: 32,
    plant: (planter) => planter.flip(EXTENTS, 40),
  },
  {
    name: 'extent with another number of lines',
    file: EXTENTS,
    offset: 32,
    plant: (planter) =>
      planter.forge(EXTENTS, { offset: 32, length: 32 }, (extent) => extent.writeUInt32LE(5, 8)),
  },
  {
    name: 'extents cut',
    file: EXTENTS,
    offset: 64,
    mended: true,
    plant: (planter) => planter.cut(EXTENTS, 70),
  },
  {
    name: 'extents gone',
    file: EXTENTS,
    offset: 0,
    mended: true,
    plant: (planter) => planter.remove(EXTENTS),
  },
  {
    name: 'line that is not JSON',
    file: EVENTS,
    offset: 18,
    forged: true,
    plant: async (planter) => {
      await planter.write(EVENTS, 18, Buffer.from('['));
      const crc = crc32(planter.read(EVENTS).subarray(18, 36));
      await planter.forge(EXTENTS, { offset: 32, length: 32 }, (extent) =>
        extent.writeUInt32LE(crc, 16),
      );
    },
  },
];

const NOTHING: ShelfBatch = {
  blobs: [],
  sha256: [],
  keys: [],
  patches: [],
  contexts: [],
  contextMeta: [],
  docs: [],
  logs: [],
  gonePacks: [],
  totals: NO_TOTALS,
  positions: {},
};

/** What SQLite would have to lose without noticing. */
function inIndex(name: string, change: (planter: Planter, batch: ShelfBatch) => void): Damage {
  const plant = async (planter: Planter): Promise<void> => {
    const { shelf } = planter;
    change(planter, { ...NOTHING, totals: shelf.totals(), positions: shelf.positions() });
  };
  return { name: `index: ${name}`, file: 'index.db', offset: 0, forged: true, stale: true, plant };
}

const index: Damage[] = [
  inIndex('a blob is forgotten', ({ shelf }) => {
    const [place] = shelf.walkBlobs();
    if (place !== undefined) shelf.forgetBlobs([place]);
  }),
  inIndex('a blob where none is', ({ shelf }, batch) => {
    const blob = { hash: ELSEWHERE, pack: 1, offset: 99, rawLength: 1, storedLength: 1, codec: 0 };
    shelf.apply({ ...batch, blobs: [blob] });
  }),
  inIndex('a context elsewhere', ({ shelf }, batch) => {
    shelf.apply({
      ...batch,
      contexts: [{ id: 1, head: 3, base: 0, createdAt: 1, updatedAt: 5, removed: false }],
    });
  }),
  inIndex('an old version of a document', ({ shelf }, batch) => {
    const doc = { name: 'settings.json', offset: 32, length: 50, version: 1, removed: false };
    shelf.apply({ ...batch, docs: [doc] });
  }),
  inIndex('a log is forgotten', ({ shelf }, batch) => {
    shelf.apply({ ...batch, logs: [{ name: 'logs/short', removed: true }] });
  }),
];

export const DAMAGE_TO_CONTENT: readonly Damage[] = [...docs, ...logs, ...index];
