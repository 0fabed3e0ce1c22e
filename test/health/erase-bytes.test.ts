import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openStore as openFolder } from '../../src/open-store.ts';
import { createStore } from '../../src/store/create-store.ts';
import type { Store } from '../../src/store/store.ts';
import { exploreCrashes } from '../../src/testing/disk/explore-crashes.ts';
import { MemoryIo } from '../../src/testing/disk/memory-io.ts';
import { openStore } from '../crash/open-store.ts';
import { CHECK_TIME } from '../crash/oracle.ts';
import {
  checkErased,
  eraseAll,
  fillSecrets,
  findTexts,
  largeTexts,
} from '../../src/testing/health-suite/erase-scene.ts';
import { filesIn } from './files-in.ts';
import type { Files } from '../../src/testing/health-suite/find-bytes.ts';
import { freshFolder } from '../../src/testing/fresh-folder.ts';

/*
 * Invariant: once an erasure has been acknowledged, no file of the store has the bytes, in any form, nor
 * has a backup made after it. When it was interrupted, each blob of it can be read as a whole, or is gone
 * from every file once the store has been opened again; and then it can be erased again.
 */

const LARGE_BYTES = 600_000;
/** Just above where blobs are stored in chunks. */
const SMALLEST_LARGE_BYTES = 265_000;

function filesOn(disk: MemoryIo): Files {
  return disk.paths().map((path) => [path, disk.contentOf(path)?.toBytes() ?? new Uint8Array()]);
}

async function openOn(disk: MemoryIo, clock: () => number): Promise<Store> {
  return createStore(await openStore(disk, clock), { clock });
}

describe('after an erasure', () => {
  it('a folder has the bytes nowhere, nor has a backup', { timeout: 120_000 }, async () => {
    const folder = freshFolder('quipu-erase-');
    const [live, old, fresh] = ['live', 'old', 'fresh'].map((name) => join(folder, name));
    if (live === undefined || old === undefined || fresh === undefined) throw new Error('no names');
    const store = await openFolder(live);
    const scene = await fillSecrets(store, largeTexts(LARGE_BYTES));
    const texts = scene.secrets.flatMap((secret) => secret.texts);
    for (const text of texts) expect(findTexts(filesIn(live), [text])).not.toEqual([]);
    await store.maintain.backup(old);

    const erased: string[] = [];
    await eraseAll(store, scene.secrets, (name) => erased.push(name));
    expect(findTexts(filesIn(live), texts)).toEqual([]);
    await checkErased(store, scene, { files: filesIn(live), erased });
    await store.maintain.backup(old);
    await store.maintain.backup(fresh);
    await store.close();

    for (const place of [live, old, fresh]) {
      expect(findTexts(filesIn(place), texts), place).toEqual([]);
      const again = await openFolder(place);
      await checkErased(again, scene, { files: filesIn(place), erased });
      const { items } = await again.contexts.list();
      expect(items).toHaveLength(1);
      const { turns } = await again.contexts.last(scene.context, 100);
      const reasons = turns.filter(({ tombstone }) => tombstone).map(({ reason }) => reason);
      expect(new Set(reasons)).toEqual(new Set(['it was a secret']));
      expect(reasons.length).toBeGreaterThan(4);
      const list = readFileSync(join(place, 'erased/blobs.jsonl'), 'utf8');
      expect(list).toContain('it was a secret');
      expect(list).not.toMatch(/[0-9a-f]{64}/);
      await again.close();
      expect(findTexts(filesIn(place), texts), place).toEqual([]);
    }
  });

  it('also when the power is cut on the way', { timeout: 120_000 }, async () => {
    const start = new MemoryIo();
    const large = largeTexts(SMALLEST_LARGE_BYTES).slice(0, 1);
    const scene = await fillSecrets(await openOn(start, () => 1000), large);
    let checked = 0;
    const count = await exploreCrashes<string>({
      seed: 3,
      statesPerPoint: 2,
      nestedPerPoint: 1,
      start: start.copy(),
      async run(disk, note) {
        const store = await openOn(disk, () => 2000);
        await eraseAll(store, scene.secrets, note);
        await store.close();
      },
      async check(disk, erased, crash) {
        const store = await openOn(disk, () => CHECK_TIME);
        crash.recovered();
        await checkErased(store, scene, { files: filesOn(disk), erased });
        checked += 1;
        if (checked % 5 !== 0) return;
        await eraseAll(store, scene.secrets);
        const names = scene.secrets.map(({ name }) => name);
        await checkErased(store, scene, { files: filesOn(disk), erased: names });
      },
    });
    expect(count.states).toBeGreaterThan(200);
  });
});
