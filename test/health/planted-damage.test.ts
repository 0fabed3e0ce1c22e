import { beforeAll, describe, expect, it } from 'vitest';
import { isQuipuError } from '../../src/base/errors.ts';
import { ShelfDamaged } from '../../src/engine/files/index/shelf.ts';
import type { MemoryIo } from '../../src/testing/disk/memory-io.ts';
import type { Damage } from './damage.ts';
import { DAMAGE_TO_CONTENT } from './damage-to-content.ts';
import { DAMAGE_TO_PACKS } from './damage-to-packs.ts';
import { DAMAGE_TO_RECORDS } from './damage-to-records.ts';
import { Planter } from './planter.ts';
import { buildSample, openSample, readEverything, ROOT } from './sample-store.ts';
import type { Sample } from './sample-store.ts';

// Invariant: whatever is damaged, a check finds it, at its place, and no read answers with anything but
// what was stored or CORRUPT. A repair takes nothing away and makes again what can be made again; a check after it is
// clean only when everything can be read.

const DAMAGES = [...DAMAGE_TO_RECORDS, ...DAMAGE_TO_PACKS, ...DAMAGE_TO_CONTENT];

let whole: Map<string, string>;
let wholeAfterOpening: Map<string, string>;

beforeAll(async () => {
  const { engine, disk } = await buildSample();
  whole = await readEverything(engine);
  const again = await openSample(disk.copy());
  wholeAfterOpening = await readEverything(again.engine);
});

it('covers every kind of damage, in a store that is whole without it', async () => {
  const { engine } = await buildSample();
  expect((await engine.upkeep.check({ repair: false })).problems).toEqual([]);
  expect(whole.size).toBeGreaterThan(150);
  expect(DAMAGES.length).toBeGreaterThan(60);
  expect(new Set(DAMAGES.map(({ name }) => name)).size).toBe(DAMAGES.length);
});

it('tells of an index that cannot be read, and goes on with a new one', async () => {
  const { engine, shelf } = await buildSample();
  shelf().walkBlobs = () => {
    throw new ShelfDamaged('as a test wants it');
  };
  const { problems, checked } = await engine.upkeep.check({ repair: false });
  expect(problems).toEqual([expect.objectContaining({ file: 'index.db', severity: 'stale' })]);
  expect(checked.blobs).toBe((await engine.stats()).blobs);
  expect((await engine.upkeep.check({ repair: false })).problems).toEqual([]);
});

it('is the only upkeep while it runs', async () => {
  const { engine } = await buildSample();
  const running = engine.upkeep.check({ repair: false });
  await expect(engine.upkeep.check({ repair: false })).rejects.toMatchObject({ code: 'LOCKED' });
  expect((await running).problems).toEqual([]);
});

describe.each(DAMAGES)('$name', (damage) => {
  it('is found where it is, and is served by no read', async () => {
    const sample = await buildSample();
    const offset = (await damage.plant(new Planter(sample))) ?? damage.offset;
    const { problems } = await sample.engine.upkeep.check({ repair: false });
    const severity = damage.stale === true ? 'stale' : 'lost';
    expect(problems).toContainEqual(
      expect.objectContaining({ file: damage.file, offset, severity }),
    );
    if (damage.forged === true) return;
    expectNothingElse(await readEverything(sample.engine), whole);
    await expectNothingElseAfterOpening(sample.disk.copy());
  });

  it('is repaired without taking anything away', async () => {
    const sample = await buildSample();
    await damage.plant(new Planter(sample));
    const before = filesOf(sample.disk);
    const report = await sample.engine.upkeep.check({ repair: true });
    expect(report.problems.length).toBeGreaterThan(0);
    if (damage.mended === true) await expectMended(sample, before);
    else if (damage.stale !== true) expectKept(before, filesOf(sample.disk), damage);
    const after = await sample.engine.upkeep.check({ repair: false });
    expect(after.problems.filter(({ severity }) => severity === 'stale')).toEqual([]);
    expect(damage.stale === true ? after.problems : []).toEqual([]);
    const isClean = after.problems.length === 0;
    expect(isClean ? await readEverything(sample.engine) : whole).toEqual(whole);
    expect(after.quarantined).toEqual(report.quarantined);
    for (const copy of report.quarantined) {
      expect(sample.disk.paths()).toContain(`${ROOT}/${copy}`.slice(1));
    }
  });
});

function expectNothingElse(found: Map<string, string>, right: Map<string, string>): void {
  for (const [name, answer] of found) expect(answer, name).toBe(right.get(name));
}

async function expectNothingElseAfterOpening(disk: MemoryIo): Promise<void> {
  try {
    const { engine } = await openSample(disk);
    // A turn that was open stays so while its head is damaged.
    for (const [name, answer] of await readEverything(engine)) {
      expect([wholeAfterOpening.get(name), whole.get(name)], name).toContain(answer);
    }
    await engine.close();
  } catch (error) {
    if (!isQuipuError(error, 'CORRUPT')) throw error;
  }
}

function filesOf(disk: MemoryIo): Map<string, Buffer> {
  return new Map(
    disk.paths().map((path) => {
      const content = disk.contentOf(`/${path}`);
      const bytes = Buffer.alloc(content?.length ?? 0);
      content?.read(bytes, 0);
      return [path, bytes];
    }),
  );
}

/** Both files of a log, as they were, are where they were or set aside, and it can be appended to. */
async function expectMended({ disk, engine }: Sample, before: Map<string, Buffer>): Promise<void> {
  const after = filesOf(disk);
  const log = [...before.keys()].find((path) => path.endsWith('logs/events')) ?? '';
  const old = before.get(log)?.toString() ?? '';
  const now = after.get(log)?.toString() ?? '';
  const aside = [...after]
    .filter(([path]) => path.includes('quarantine/'))
    .map(([, bytes]) => bytes);
  let same = 0;
  while (same < old.length && old[same] === now[same]) same += 1;
  const rest = old.slice(same);
  expect(aside.some((bytes) => bytes.toString().includes(rest))).toBe(true);
  const { lines = 0 } = (await engine.getLog('logs/events')) ?? {};
  await engine.commit({ logs: [{ do: 'append', name: 'logs/events', lines: ['"on"'] }] });
  expect(await engine.readLog('logs/events', lines, 10)).toEqual(['"on"']);
}

/** Every file is as it was, but for those that a checkpoint writes anyway. */
function expectKept(before: Map<string, Buffer>, after: Map<string, Buffer>, damage: Damage): void {
  for (const [path, bytes] of before) {
    if (path.includes('/journal/')) continue;
    expect(after.get(path)?.equals(bytes), `${damage.name}: ${path}`).toBe(true);
  }
}
