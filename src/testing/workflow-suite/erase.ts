import { describe, expect, it } from 'vitest';
import { encodeUtf8 } from '../../base/text.ts';
import type { StoreTarget } from '../store-suite/store-target.ts';
import { BUNDLE, openWorkflows } from './fixture.ts';

const REASON = { reason: 'a secret' };

export function eraseSuite(target: StoreTarget): void {
  describe('erasing a blob that threads need', () => {
    it('names the workflow whose nodes lead to it, and erases it when told everywhere', async () => {
      const { store } = await openWorkflows(target);
      const { workflows, blobs } = store;
      const { hash: artifact } = await blobs.put(encodeUtf8('an artifact'));
      const { id } = await workflows.start({ name: 'x', bundle: BUNDLE, prompt: 'the prompt' });
      const step = await workflows.step(id, { role: 'r', content: 'said', refs: [artifact] });
      await workflows.step(id, { role: 'r', content: 'and more' });
      await workflows.compact(id, 'the summary');
      await workflows.end(id);
      const all = await workflows.findReachableHashes([(await workflows.get(id))!.head]);
      expect(all.has(artifact)).toBe(true);
      for (const hash of all) {
        const report = await blobs.erase(hash, REASON);
        expect(report).toMatchObject({ erased: false, usedBy: [], neededBy: [{ id }] });
        expect(await blobs.has(hash)).toBe(true);
      }
      const report = await blobs.erase(artifact, { ...REASON, everywhere: true });
      expect(report).toMatchObject({ erased: true, neededBy: [] });
      expect((await workflows.steps(id)).steps[0]).toMatchObject({ hash: step.hash });
    });

    it('names bundles, and threads that turns share bytes with', async () => {
      const { store } = await openWorkflows(target);
      const { workflows, blobs, contexts } = store;
      const source = `export const descriptor = { name: 'one', roles: { a: { command: 'x' } } };
      export const table = { __start__: 'a', a: '__end__' };`;
      const bundle = await workflows.bundles.add(source);
      expect(await blobs.erase(bundle.hash, REASON)).toMatchObject({
        erased: false,
        neededBy: [{ kind: 'workflows', id: 'one' }],
      });
      const { id } = await workflows.start({ name: 'x', bundle: BUNDLE, prompt: 'same bytes' });
      const context = await contexts.create();
      const turn = await contexts.append(context.id, {
        type: 'note',
        payload: encodeUtf8('same bytes'),
      });
      expect(await contexts.erase(turn.id, REASON)).toMatchObject({
        erased: false,
        blobs: [{ usedBy: [turn.id], neededBy: [{ kind: 'workflows', id }] }],
      });
      await workflows.remove(id);
      expect((await contexts.erase(turn.id, REASON)).erased).toBe(true);
    });
  });
}
