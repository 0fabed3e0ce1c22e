import { describe, expect, it } from 'vitest';
import { openBeside, openRig } from '../store-suite/fixture.ts';
import type { StoreTarget } from '../store-suite/store-target.ts';
import { checkErased, eraseAll, fillSecrets, findTexts, largeTexts } from './erase-scene.ts';

const LARGE_BYTES = 600_000;

export function erasingSuite(target: StoreTarget): void {
  describe('after an erasure', { timeout: 60_000 }, () => {
    it('the bytes are nowhere, whoever had read them', async () => {
      const rig = await openRig(target);
      const scene = await fillSecrets(rig.store, largeTexts(LARGE_BYTES));
      const texts = scene.secrets.flatMap((secret) => secret.texts);
      const before = [...(await target.stored(rig))];
      for (const text of texts) expect(findTexts(before, [text])).not.toEqual([]);
      const other = await openBeside(rig);
      await other.store.contexts.last(scene.context, 100);

      const erased: string[] = [];
      await eraseAll(rig.store, scene.secrets, (name) => erased.push(name));
      const files = [...(await target.stored(rig))];
      expect(findTexts(files, texts)).toEqual([]);
      for (const { store } of [rig, other]) await checkErased(store, scene, { files, erased });
    });

    it('would be noticed if a blob stayed', async () => {
      const rig = await openRig(target);
      const scene = await fillSecrets(rig.store, []);
      rig.engine.upkeep.eraseBlob = async () => undefined;
      await eraseAll(rig.store, scene.secrets);
      const files = [...(await target.stored(rig))];
      expect(findTexts(files, scene.secrets[0]!.texts)).not.toEqual([]);
    });
  });
}
