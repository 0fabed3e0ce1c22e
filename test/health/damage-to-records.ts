import { FRAME_ALIGN_BYTES } from '../../src/format/journal-frame.ts';
import { HEAD_RECORD_BYTES } from '../../src/format/head-record.ts';
import { TURN_RECORD_BYTES } from '../../src/format/turn-record.ts';
import type { Damage } from './damage.ts';
import type { Planter } from './planter.ts';

// Damage to the journal, turns, heads, open turns, patches and SHA-256 records.

const TURNS = 'turns/turns.log';
const HEADS = 'turns/heads.tbl';
const PATCHES = 'turns/patches.log';
const ALIASES = 'blobs/aliases.log';
const OPEN = 'turns/open/27';

function flip(name: string, file: string, offset: number, byte = offset): Damage {
  return { name, file, offset, plant: (planter) => planter.flip(file, byte) };
}

/** Right checksum, wrong content: no read can tell, only a look at the whole. */
function forgeTurn(name: string, id: number, change: (record: Buffer) => void): Damage {
  const place = { offset: id * TURN_RECORD_BYTES, length: TURN_RECORD_BYTES };
  const plant = (planter: Planter): Promise<void> => planter.forge(TURNS, place, change);
  return { name, file: TURNS, offset: place.offset, forged: true, plant };
}

function forgeHead(name: string, id: number, change: (record: Buffer) => void): Damage {
  const place = { offset: id * HEAD_RECORD_BYTES, length: HEAD_RECORD_BYTES };
  const plant = async (planter: Planter): Promise<void> => {
    await planter.settle();
    await planter.forge(HEADS, place, change);
  };
  return { name, file: HEADS, offset: place.offset, forged: true, stale: true, plant };
}

function forgePatch(name: string, seq: number, change: (record: Buffer) => void): Damage {
  const plant = (planter: Planter): Promise<void> =>
    planter.forge(PATCHES, { offset: seq * 96, length: 96 }, change);
  return { name, file: PATCHES, offset: seq * 96, forged: true, plant };
}

function forgeAlias(name: string, change: (record: Buffer) => void): Damage {
  const plant = (planter: Planter): Promise<void> =>
    planter.forge(ALIASES, { offset: 72, length: 72 }, change);
  return { name, file: ALIASES, offset: 72, forged: true, plant };
}

const journal: Damage[] = [
  { ...flip('FORMAT changed', 'FORMAT', 0, 12), stale: true },
  { ...flip('checkpoint a changed', 'journal/checkpoint-a', 0, 40), stale: true },
  { ...flip('checkpoint b changed', 'journal/checkpoint-b', 0, 40), stale: true },
  { ...flip('mark changed', 'journal/mark', 0, 9), stale: true },
  {
    name: 'body of the last frame changed',
    file: 'journal/a.wal',
    stale: true,
    plant: async (planter) => {
      const at = lastFrame(planter.read('journal/a.wal'));
      await planter.flip('journal/a.wal', at + 60);
      return at;
    },
  },
];

/** Where the frame with the highest number begins. */
function lastFrame(segment: Buffer): number {
  let best = { seq: 0, at: 0 };
  for (let at = 0; at < segment.length; at += FRAME_ALIGN_BYTES) {
    const isFrame = segment.toString('latin1', at, at + 4) === 'QJRN';
    const seq = isFrame ? segment.readUInt32LE(at + 8) : 0;
    if (seq > best.seq) best = { seq, at };
  }
  return best.at;
}

const headers: Damage[] = [TURNS, HEADS, PATCHES, ALIASES, 'docs/docs.log'].map((file) => ({
  ...flip(`header of ${file} changed`, file, 0, 9),
  stale: true,
}));

const turns: Damage[] = [
  flip('declared type changed', 'turns/types.jsonl', 0, 30),
  flip('turn record changed', TURNS, 7 * 128, 7 * 128 + 70),
  {
    name: 'turn record zeroed',
    file: TURNS,
    offset: 9 * 128,
    plant: (planter) => planter.write(TURNS, 9 * 128, new Uint8Array(128)),
  },
  {
    name: 'turn record of another turn',
    file: TURNS,
    offset: 6 * 128,
    plant: (planter) =>
      planter.write(TURNS, 6 * 128, planter.read(TURNS).subarray(5 * 128, 6 * 128)),
  },
  {
    name: 'turns.log cut',
    file: TURNS,
    offset: 26 * 128,
    plant: (planter) => planter.cut(TURNS, 26 * 128 + 5),
  },
  forgeTurn('depth of a turn', 12, (record) => record.writeUInt32LE(40, 16)),
  forgeTurn('jump of a turn', 12, (record) => record.writeUInt32LE(2, 88)),
  forgeTurn('side jump of a turn', 12, (record) => record.writeUInt32LE(2, 112)),
  forgeTurn('parent that is younger', 12, (record) => record.writeUInt32LE(13, 8)),
  forgeTurn('root with a depth', 1, (record) => record.writeUInt32LE(3, 16)),
  forgeTurn('type that is not declared', 12, (record) => record.fill(7, 24, 32)),
  forgeTurn('payload that is not there', 12, (record) => record.fill(7, 32, 64)),
  forgeTurn('context that never was', 12, (record) => record.writeUInt32LE(99, 80)),
  forgeTurn('flags that are never stored', 12, (record) => record.writeUInt32LE(16, 64)),
];

const heads: Damage[] = [
  { ...flip('head changed', HEADS, 64, 64 + 10), stale: true },
  {
    ...forgeHead('older head brought back', 1, (record) => {
      record.writeUInt32LE(19, 8);
      record.writeUInt32LE(18, 48);
    }),
    forged: false,
  },
  forgeHead('depth of a head', 2, (record) => record.writeUInt32LE(3, 48)),
  forgeHead('base that never was', 4, (record) => record.writeUInt32LE(900, 16)),
  forgeHead('open turn that is not open', 2, (record) => record.writeUInt32LE(3, 24)),
  forgeHead('length of the open turn', 5, (record) => record.writeUInt32LE(3, 56)),
];

const openTurns: Damage[] = [
  flip('record of an open turn changed', OPEN, 0, 20),
  flip('text of an open turn changed', OPEN, 128, 150),
  {
    name: 'text of an open turn cut at a delta',
    file: OPEN,
    offset: 128 + 24,
    plant: (planter) => planter.cut(OPEN, 128 + 24),
  },
  {
    name: 'file of an open turn gone',
    file: OPEN,
    offset: 0,
    plant: (planter) => planter.remove(OPEN),
  },
  {
    name: 'file of an open turn that is sealed',
    file: 'turns/open/8',
    offset: 0,
    forged: true,
    stale: true,
    plant: (planter) => planter.write('turns/open/8', 0, planter.read(OPEN)),
  },
];

const patches: Damage[] = [
  flip('patch changed', PATCHES, 96, 96 + 20),
  forgePatch('patch on a turn that never was', 2, (record) => record.writeUInt32LE(900, 0)),
  forgePatch('patch with a payload that is not there', 2, (record) => record.fill(7, 16, 48)),
];

const aliases: Damage[] = [
  flip('SHA-256 record changed', ALIASES, 72, 72 + 40),
  forgeAlias('SHA-256 of something else', (record) => record.fill(7, 32, 64)),
  forgeAlias('SHA-256 of a blob that is not there', (record) => record.fill(7, 0, 32)),
  {
    name: 'note of an erased blob changed',
    file: 'blobs/erased.log',
    offset: 0,
    plant: (planter) => planter.flip('blobs/erased.log', 3),
  },
];

export const DAMAGE_TO_RECORDS: readonly Damage[] = [
  ...journal,
  ...headers,
  ...turns,
  ...heads,
  ...openTurns,
  ...patches,
  ...aliases,
];
