import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { Io, IoFile } from '../../engine/io.ts';
import { cutFiles, flipBytes } from './damage.ts';
import { exploreCrashes } from './explore-crashes.ts';
import type { CrashCount } from './explore-crashes.ts';
import { FaultIo } from './fault-io.ts';
import { planFaults } from './fault-plan.ts';
import type { FaultPlan } from './fault-plan.ts';
import { MemoryIo } from './memory-io.ts';

/*
 * The rig is tried on a toy journal that keeps its promise, and on copies of it that each have one of
 * the classic bugs. The promise: after a crash, faults or not, the journal holds a prefix of what was
 * sent, with everything acknowledged in it; damaged bytes are reported, never served or dropped.
 */

const BUGS = {
  noSync: 'acknowledges without a sync',
  noFolderSync: 'leaves the name of its file to luck',
  acknowledgesFirst: 'acknowledges before the sync',
  ignoresShortWrites: 'takes a short write for a whole one',
  retriesSync: 'trusts a sync that follows a failed one',
  goesOnAfterFailure: 'writes on after a failed write',
  cutsAtFirstBadRecord: 'takes every bad record for a torn tail',
  rewritesOnRecovery: 'cuts a torn tail by writing all the rest anew',
} as const;
type Bug = keyof typeof BUGS;

const RECORDS = ['one', 'two'.repeat(400), 'three', 'four'.repeat(10)];

// Record: | crc32 of the rest u32 | number u32 | length u32 | text |. The file `count` says, as of the
// last clean close, how many records there must be.
function encodeRecord(number: number, text: string): Buffer {
  const record = Buffer.alloc(12 + text.length);
  record.writeUInt32LE(number, 4);
  record.writeUInt32LE(text.length, 8);
  record.write(text, 12, 'latin1');
  record.writeUInt32LE(crc32(record.subarray(4)), 0);
  return record;
}

function decodeRecord(
  bytes: Buffer,
  at: number,
): { number: number; text: string; end: number } | undefined {
  if (at + 12 > bytes.length) return undefined;
  const end = at + 12 + bytes.readUInt32LE(at + 8);
  if (end > bytes.length || crc32(bytes.subarray(at + 4, end)) !== bytes.readUInt32LE(at))
    return undefined;
  return { number: bytes.readUInt32LE(at + 4), text: bytes.toString('latin1', at + 12, end), end };
}

async function readWhole(file: IoFile): Promise<Buffer> {
  const bytes = Buffer.alloc(await file.size());
  await file.read(bytes, 0);
  return bytes;
}

async function recover(io: Io, bug?: Bug): Promise<{ texts: string[]; file: IoFile; end: number }> {
  await io.mkdir('toy');
  await io.syncDir('/');
  const file = await io.open('toy/log', 'create');
  if (bug !== 'noFolderSync') await io.syncDir('toy');
  const bytes = await readWhole(file);
  const texts: string[] = [];
  let end = 0;
  for (
    let next = decodeRecord(bytes, 0);
    next?.number === texts.length;
    next = decodeRecord(bytes, end)
  ) {
    texts.push(next.text);
    end = next.end;
  }
  if (end === bytes.length && (await countClosed(io)) <= texts.length) return { texts, file, end };
  if (bug !== 'cutsAtFirstBadRecord') {
    for (let at = end; at < bytes.length; at++) {
      if (decodeRecord(bytes, at) !== undefined)
        throw new Error(`CORRUPT: a good record after ${end}`);
    }
    if ((await countClosed(io)) > texts.length) throw new Error('CORRUPT: records are missing');
  }
  if (bug === 'rewritesOnRecovery') {
    await file.truncate(0);
    await file.write(bytes.subarray(0, end), 0);
  } else {
    await file.truncate(end);
  }
  await file.sync();
  return { texts, file, end };
}

async function countClosed(io: Io): Promise<number> {
  if ((await io.stat('toy/count')) === undefined) return 0;
  const bytes = await readWhole(await io.open('toy/count', 'read'));
  const record = decodeRecord(bytes, 0);
  if (record?.end !== bytes.length) throw new Error('CORRUPT: the count');
  return record.number;
}

async function close(io: Io, count: number): Promise<void> {
  const file = await io.open('toy/count.new', 'create');
  const bytes = encodeRecord(count, '');
  if ((await file.write(bytes, 0)) !== bytes.length) throw new Error('short write');
  await file.sync();
  await io.rename('toy/count.new', 'toy/count');
  await io.syncDir('toy');
}

async function append(file: IoFile, bytes: Uint8Array, position: number, bug?: Bug): Promise<void> {
  const taken = await file.write(bytes, position);
  if (taken !== bytes.length && bug !== 'ignoresShortWrites') throw new Error('short write');
  if (bug === 'noSync') return;
  try {
    await file.sync();
  } catch (error) {
    if (bug !== 'retriesSync') throw error;
    await file.sync();
  }
}

type Fact = 'sent' | 'acknowledged';

/** Appends what is missing of RECORDS, then closes. Gives up at the first failure. */
async function work(io: Io, note: (fact: Fact) => void, bug?: Bug): Promise<void> {
  const { texts, file, end } = await recover(io, bug);
  let position = end;
  for (let number = texts.length; number < RECORDS.length; number++) {
    const record = encodeRecord(number, RECORDS[number]!);
    note('sent');
    if (bug === 'acknowledgesFirst') note('acknowledged');
    try {
      await append(file, record, position, bug);
      if (bug !== 'acknowledgesFirst') note('acknowledged');
    } catch (error) {
      if (bug !== 'goesOnAfterFailure') throw error;
    }
    position += record.length;
  }
  await close(io, RECORDS.length);
}

function explore(bug?: Bug, plan?: FaultPlan): Promise<CrashCount> {
  return exploreCrashes<Fact>({
    seed: 11,
    statesPerPoint: plan === undefined ? 100 : 8,
    nestedPerPoint: plan === undefined ? 40 : 0,
    async run(disk, note) {
      const io = plan === undefined ? disk : new FaultIo(disk, plan);
      const done = work(io, note, bug);
      await (plan === undefined ? done : done.catch(() => undefined));
    },
    async check(disk, facts, crash) {
      const { texts } = await recover(disk, bug);
      crash.recovered();
      expect(texts).toEqual(RECORDS.slice(0, texts.length));
      expect(texts.length).toBeGreaterThanOrEqual(
        facts.filter((fact) => fact === 'acknowledged').length,
      );
      expect(texts.length).toBeLessThanOrEqual(facts.filter((fact) => fact === 'sent').length);
      // What was recovered was promised again: a second crash may not take it back.
      await work(disk, () => undefined, bug);
      expect((await recover(disk.copy(), bug)).texts).toEqual(RECORDS);
    },
  });
}

async function exploreFaults(bug?: Bug): Promise<number> {
  const clean = new FaultIo(new MemoryIo());
  await work(clean, () => undefined, bug);
  let states = 0;
  for (const plan of planFaults(clean.trace)) states += (await explore(bug, plan)).states;
  return states;
}

async function exploreDamage(bug?: Bug): Promise<number> {
  const disk = new MemoryIo();
  await work(disk, () => undefined, bug);
  let detected = 0;
  for (const damages of [flipBytes(disk, { seed: 5 }), cutFiles(disk, { seed: 5 })]) {
    for (const damage of damages) {
      const found = await recover(damage.disk, bug).then(
        ({ texts }) => texts.join(),
        (error: Error) => error.message,
      );
      if (found.startsWith('CORRUPT')) detected++;
      else if (found !== RECORDS.join()) throw new Error(`${damage.what}: not what was written`);
    }
  }
  return detected;
}

describe('the rig, on a journal that keeps its promise', () => {
  it('finds nothing in any crash', async () => {
    const count = await explore();
    expect(count.points).toBeGreaterThan(15);
    expect(count.distinctDisks).toBeGreaterThan(100);
    expect(count.states).toBeGreaterThanOrEqual(count.distinctDisks);
    expect(count.nested).toBeGreaterThan(0);
    expect(await explore()).toEqual(count);
  });

  it('names every disk by its hash', async () => {
    const images = new Set<number>();
    const count = await exploreCrashes<Fact>({
      seed: 11,
      statesPerPoint: 20,
      run: work,
      async check(disk, _, crash) {
        expect(crash.image).toBe(disk.hash());
        images.add(crash.image);
      },
    });
    expect(images.size).toBe(count.distinctDisks);
    expect(images.size).toBeLessThan(count.states);
  });

  it('finds nothing in any crash after any fault', async () => {
    expect(await exploreFaults()).toBeGreaterThan(1000);
  });

  it('sees every damaged byte detected', async () => {
    expect(await exploreDamage()).toBeGreaterThan(2000);
  });
});

describe('the rig, on a journal with a bug', () => {
  const byCrash: Bug[] = ['noSync', 'noFolderSync', 'acknowledgesFirst'];
  it.each(byCrash)('finds by crashing: %s', async (bug) => {
    await expect(explore(bug), BUGS[bug]).rejects.toThrow(/crash before .*, seed 11/);
  });

  it('finds by crashing the recovery: rewritesOnRecovery', async () => {
    await expect(explore('rewritesOnRecovery'), BUGS.rewritesOnRecovery).rejects.toThrow(
      /crash before .*[^]*and during recovery, before (?:write|sync) toy\/log/,
    );
  });

  const byFault: Bug[] = ['ignoresShortWrites', 'retriesSync', 'goesOnAfterFailure'];
  it.each(byFault)('finds by faults: %s', async (bug) => {
    await explore(bug);
    await expect(exploreFaults(bug), BUGS[bug]).rejects.toThrow(/crash before .*, seed 11/);
  });

  it('finds by damage: cutsAtFirstBadRecord', async () => {
    await explore('cutsAtFirstBadRecord');
    await expect(exploreDamage('cutsAtFirstBadRecord'), BUGS.cutsAtFirstBadRecord).rejects.toThrow(
      /xor/,
    );
  });
});
