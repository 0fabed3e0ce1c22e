import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { crc32 } from '../../../format/bytes.ts';
import { encodeUtf8 } from '../../../base/text.ts';
import { LOG_EXTENT_BYTES, encodeLogExtent } from '../../../format/log-extent.ts';
import { cutFiles, type Damage, flipBytes } from '../../../testing/disk/damage.ts';
import { MemoryIo } from '../../../testing/disk/memory-io.ts';
import type { SalvagedLog } from '../../rows.ts';
import { extentsFile } from './line-log.ts';
import { StoreFiles } from '../disk/store-files.ts';
import { openDamaged, salvagePage } from './salvage-log.ts';

/*
 * Invariant: whatever happened to one of the two files of a log, every line that is handed out is the one
 * that was written under that number, and what is not handed out is said to be damaged. Lines of extents
 * that the damage did not touch are handed out.
 */

const LOG = 'logs/a';
const EXTENTS = 12;

interface Extent {
  readonly offset: number;
  readonly end: number;
  readonly lines: readonly string[];
}

const extents: Extent[] = [];
let disk = new MemoryIo();
const written = (): string[] => extents.flatMap(({ lines }) => lines);

beforeAll(async () => {
  disk = new MemoryIo();
  await disk.mkdir('/store');
  const files = new StoreFiles(disk, '/store');
  let [offset, endLine] = [0, 0];
  for (let n = 0; n < EXTENTS; n += 1) {
    const lines = Array.from({ length: 1 + (n % 3) }, (_, at) => JSON.stringify({ n, at, ü: 'ü' }));
    const data = encodeUtf8(`${lines.join('\n')}\n`);
    const end = offset + data.length;
    endLine += lines.length;
    const extent = encodeLogExtent({ endOffset: end, endLine, contentCrc: crc32(data) });
    await files.apply([
      { kind: 'bytes', path: LOG, offset, data },
      { kind: 'bytes', path: extentsFile(LOG), offset: n * LOG_EXTENT_BYTES, data: extent },
    ]);
    extents.push({ offset, end, lines });
    offset = end;
  }
});

async function salvage(io: MemoryIo, from = 0, limit = 1000): Promise<SalvagedLog> {
  const log = await openDamaged(new StoreFiles(io, '/store'), LOG);
  return salvagePage(log, { from, limit });
}

/** Throws when a line is another one, or when one is missing and nothing is said to be damaged. */
function assertHonest({ lines, page, damage }: SalvagedLog): void {
  for (const [at, line] of page.entries()) {
    const isOther = typeof line === 'string' && line !== written()[at];
    if (isOther) throw new Error(`line ${at} was another one: ${line}`);
  }
  if (page.length !== lines) throw new Error(`${lines} lines, and ${page.length} are there`);
  if (lines < written().length && damage.length === 0) throw new Error('lines are missing');
}

/** Extents all of whose lines were handed out. */
function wholeOf({ page }: SalvagedLog): number[] {
  let first = 0;
  return extents.flatMap(({ lines }, index) => {
    const found = page.slice(first, first + lines.length);
    first += lines.length;
    return found.length === lines.length && found.every((line) => typeof line === 'string')
      ? [index]
      : [];
  });
}

const allBut = (...lost: readonly number[]): number[] =>
  extents.flatMap((_, index) => (lost.includes(index) ? [] : [index]));

const inLog = { seed: 1, perFile: 120, only: (path: string) => path.endsWith(LOG) };
const inExtents = { seed: 2, perFile: 120, only: (path: string) => path.endsWith('.ext') };

async function each(
  damages: Iterable<Damage>,
  look: (damage: Damage, found: SalvagedLog) => void,
): Promise<void> {
  let count = 0;
  for (const damage of damages) {
    count += 1;
    const found = await salvage(damage.disk);
    assertHonest(found);
    look(damage, found);
  }
  expect(count).toBeGreaterThan(100);
}

describe('salvaging a log', () => {
  it('leaves out the extent with a flipped byte, and says where it is', async () => {
    await each(flipBytes(disk, inLog), ({ offset }, found) => {
      const hit = extents.findIndex((extent) => offset < extent.end);
      expect(wholeOf(found)).toEqual(allBut(hit));
      const damaged = found.page.find((line) => typeof line !== 'string');
      expect(damaged).toMatchObject({ file: LOG, offset: extents[hit]?.offset });
    });
  });

  it('leaves out what a damaged extent and the one behind it prove', async () => {
    await each(flipBytes(disk, inExtents), ({ offset }, found) => {
      const hit = Math.floor(offset / LOG_EXTENT_BYTES);
      expect(wholeOf(found)).toEqual(allBut(hit, hit + 1));
    });
  });

  it('has all lines before the place where a file was cut', async () => {
    await each(cutFiles(disk, inLog), ({ offset }, found) => {
      expect(wholeOf(found)).toEqual(allBut().filter((at) => (extents[at]?.end ?? 0) <= offset));
      expect(found.damage).toMatchObject([{ file: LOG, offset }]);
      expect(found.lines).toBe(written().length);
    });
    await each(cutFiles(disk, inExtents), ({ offset }, found) => {
      const left = Math.floor(offset / LOG_EXTENT_BYTES);
      expect(wholeOf(found)).toEqual(allBut().slice(0, left));
      expect(found.damage).not.toEqual([]);
    });
  });

  it('finds the lines around any edit that someone made by hand', async () => {
    const content = Buffer.from(contentOf(disk, LOG));
    const length = extents.at(-1)?.end ?? 0;
    const place = fc.tuple(fc.nat(length), fc.nat(60), fc.uint8Array({ maxLength: 60 }));
    await fc.assert(
      fc.asyncProperty(place, async ([start, cut, put]) => {
        const end = Math.min(length, start + cut);
        const edited = Buffer.concat([content.subarray(0, start), put, content.subarray(end)]);
        const found = await salvage(await withLog(edited));
        assertHonest(found);
        const untouched = allBut().filter((at) => {
          const extent = extents[at];
          return extent !== undefined && (extent.end <= start || extent.offset >= end);
        });
        expect(wholeOf(found)).toEqual(expect.arrayContaining(untouched));
        const page = await salvage(await withLog(edited), 5, 7);
        expect(page.page).toEqual(found.page.slice(5, 12));
      }),
      { numRuns: 100 },
    );
  });

  it('would not let a reader through that takes lines as they stand', async () => {
    const [damage] = flipBytes(disk, { ...inLog, perFile: 1 });
    const lines = Buffer.from(contentOf(damage?.disk ?? disk, LOG))
      .toString()
      .split('\n')
      .slice(0, -1);
    const careless = { lines: written().length, bytes: 0, page: lines, damage: [] };
    expect(() => assertHonest(careless)).toThrow('was another one');
  });
});

function contentOf(io: MemoryIo, name: string): Uint8Array {
  const content = io.contentOf(`/store/${name}`);
  const bytes = new Uint8Array(content?.length ?? 0);
  content?.read(bytes, 0);
  return bytes;
}

async function withLog(bytes: Uint8Array): Promise<MemoryIo> {
  const edited = disk.copy();
  const file = await edited.open(`/store/${LOG}`, 'write');
  await file.truncate(0);
  await file.write(bytes, 0);
  await file.close();
  return edited;
}
