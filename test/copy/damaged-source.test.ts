import { describe, expect, it } from 'vitest';
import { isQuipuError } from '../../src/base/errors.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { copyEngine } from '../../src/maintain/copy/copy-engine.ts';
import { cutFiles, type Damage, flipBytes } from '../../src/testing/disk/damage.ts';
import { MemoryIo } from '../../src/testing/disk/memory-io.ts';
import { fillForCopy } from '../../src/testing/engine-suite/adoption-fixture.ts';
import { appendLines } from '../../src/testing/engine-suite/fixture.ts';
import { ModelEngine } from '../../src/testing/model-engine.ts';
import { openStore } from '../crash/open-store.ts';
import { withChanges } from '../../src/testing/with-changes.ts';
import { expectEqual, withUpkeep } from './copy-rig.ts';

/*
 * Invariant: a source whose bytes were damaged is either copied as it was before, or the copy ends with CORRUPT, which
 * names the file. Whatever was copied until then is the source's as it was: when the damage is mended the copy goes
 * on, and ends with a store that is equal to it.
 */

function open(disk: MemoryIo): Promise<Engine> {
  return openStore(disk, () => 1000, 1024 * 1024);
}

/** What becomes of a copy of it: the file that was named, or undefined when it was copied all the same. */
async function copyDamaged(
  good: MemoryIo,
  { disk }: Damage,
  wrap: (engine: Engine) => Engine = (engine) => engine,
): Promise<string | undefined> {
  const target = new ModelEngine();
  let named: string | undefined;
  try {
    await copyEngine(wrap(await open(disk.copy())), target);
  } catch (error) {
    if (!isQuipuError(error, 'CORRUPT')) throw error;
    named = error.data.file;
    if (!error.message.includes(named)) throw error;
  }
  const mended = await open(good.copy());
  await copyEngine(mended, target);
  await expectEqual(mended, target);
  return named;
}

async function makeSource(): Promise<MemoryIo> {
  const disk = new MemoryIo();
  const source = await open(disk);
  await fillForCopy(source);
  await appendLines(source, 'logs/one', '{"n":1}', '{"n":2}');
  await source.close();
  return disk;
}

const isPack = (path: string): boolean => path.endsWith('.pack');
const isLog = (path: string): boolean => path.includes('store/logs/');
const isRecord = (path: string): boolean => /turns\.log|patches\.log|docs\.log/.test(path);

/** The damage comes when the source was checked already. */
function unchecked(engine: Engine): Engine {
  const { upkeep } = new ModelEngine();
  return withUpkeep(engine, { check: () => upkeep.check() });
}

describe('a damaged source', { timeout: 60_000 }, () => {
  it.each([
    ['a pack, after it was checked', isPack, 3, unchecked],
    ['a log, after it was checked', isLog, 2, unchecked],
    ['a pack', isPack, 1, undefined],
    ['a record', isRecord, 2, undefined],
  ] as const)('is named: %s', async (_, only, perFile, wrap) => {
    const good = await makeSource();
    const named: string[] = [];
    const damages = [
      ...flipBytes(good, { seed: 1, only, perFile }),
      ...cutFiles(good, { seed: 2, only, perFile: 1 }),
    ];
    for (const damage of damages) {
      const file = await copyDamaged(good, damage, wrap);
      if (file === undefined) continue;
      expect(only(`store/${file}`), `${damage.what}: ${file}`).toBe(true);
      named.push(file);
    }
    expect(named.length).toBeGreaterThan(damages.length / 2);
  });

  it('would show a source that does not notice', async () => {
    const good = await makeSource();
    const [damage] = flipBytes(good, { seed: 1, only: isLog, perFile: 1 });
    const blind = (engine: Engine): Engine =>
      withChanges(unchecked(engine), {
        readLog: async (name, from, limit) => {
          const { length } = await (await open(good.copy())).readLog(name, from, limit);
          return Array.from({ length }, () => '"damaged"');
        },
      });
    await expect(copyDamaged(good, damage!, blind)).rejects.toThrow('has other lines');
  });
});
