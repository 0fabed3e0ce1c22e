import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Checkpoints } from '../../src/agents/checkpoints/checkpoints.ts';
import type { Store } from '../../src/store/store.ts';

/** What checkpoints must do on a store of any sort. `again` opens the store a second time, as another process does. */
export function checkpointSuite(
  name: string,
  open: () => Promise<{ readonly store: Store; readonly again: () => Promise<Store> }>,
): void {
  let store: Store;
  let other: Store;
  let made = 0;

  beforeAll(async () => {
    const opened = await open();
    store = opened.store;
    other = await opened.again();
  });
  afterAll(async () => {
    await other.close();
    await store.close();
  });

  /** Checkpoints of their own, of two processes. */
  function both(): [Checkpoints, Checkpoints] {
    const options = { prefix: `run ${(made += 1)}` };
    return [new Checkpoints(store, options), new Checkpoints(other, options)];
  }

  async function all(checkpoints: Checkpoints, within?: string): Promise<string[]> {
    const ids: string[] = [];
    for await (const { id } of checkpoints.list(within)) ids.push(id);
    return ids;
  }

  describe(`checkpoints on ${name}`, () => {
    it('are saved one after the other, and read by every process', async () => {
      const [here, there] = both();
      expect(await here.get('t')).toBeUndefined();
      const image = new Uint8Array(1000).fill(7);
      const first = await here.save('t', { values: { list: ['a'], n: 1, image, gone: true } });
      const second = await there.save('t', {
        values: { list: ['a', { b: null }], n: 1, image },
        metadata: { step: 2 },
        details: ['of the caller'],
      });
      for (const checkpoints of [here, there]) {
        expect(await checkpoints.get('t')).toEqual({
          thread: ['t'],
          id: second,
          parent: first,
          metadata: { step: 2 },
          details: ['of the caller'],
          values: { list: ['a', { b: null }], n: 1, image },
          writes: [],
        });
        expect(await checkpoints.get('t', first)).toEqual({
          thread: ['t'],
          id: first,
          values: { list: ['a'], n: 1, image, gone: true },
          writes: [],
        });
        expect(await checkpoints.get('t', 'none')).toBeUndefined();
        expect(await all(checkpoints)).toEqual([second, first]);
      }
    });

    it('saved from one parent are two branches', async () => {
      const [here, there] = both();
      const parent = await here.save('t', { values: { list: [1] } });
      const saves = Array.from({ length: 8 }, (_, n) =>
        (n % 2 === 0 ? here : there).save('t', { id: `x${n}`, parent, values: { list: [1, n] } }),
      );
      await Promise.all(saves);
      await there.save('t', { id: 'y', parent: 'x3', values: { list: [1, 3, 4] } });
      for (const checkpoints of [here, there]) {
        for (let n = 0; n < 8; n += 1)
          expect((await checkpoints.get('t', `x${n}`))?.values).toEqual({ list: [1, n] });
        expect((await checkpoints.get('t'))?.values).toEqual({ list: [1, 3, 4] });
        expect(await all(checkpoints)).toHaveLength(10);
      }
    });

    it('have pending writes, also before they are saved', async () => {
      const [here, there] = both();
      await here.addWrites('t', 'c', 'task', [
        { name: 'constructor', value: ['a', 'b'] },
        { name: 'n', value: 1 },
        { name: 'state', value: 'tried', number: -1 },
      ]);
      await there.addWrites('t', 'c', 'task', [{ name: 'n', value: 'sent again' }]);
      await there.addWrites('t', 'c', 'task', [{ name: 'state', value: 'failed', number: -1 }]);
      await there.addWrites('t', 'c', 'other', [{ name: 'n', value: 2 }]);
      const writes = [
        { task: 'task', name: 'constructor', value: ['a', 'b'] },
        { task: 'task', name: 'n', value: 1 },
        { task: 'task', name: 'state', value: 'failed' },
        { task: 'other', name: 'n', value: 2 },
      ];
      expect(await here.get('t')).toBeUndefined();
      expect(await here.writes('t', 'c')).toEqual(writes);
      await here.save('t', { id: 'c', values: {} });
      expect((await there.get('t'))?.writes).toEqual(writes);
      expect(await there.writes('t', 'none')).toEqual([]);
    });

    it('are listed and removed with those of the threads within', async () => {
      const [here, there] = both();
      const names = ['a', ['a', '0'], ['a', 'b/c%'], 'ab', ['', 'x'].slice(1)];
      for (const [n, thread] of names.entries())
        await here.save(thread, { id: `${n}`, values: { n }, metadata: n });
      expect(await there.threads()).toEqual([['a'], ['a', '0'], ['a', 'b/c%'], ['ab'], ['x']]);
      expect(await there.threads('a')).toEqual([['a'], ['a', '0'], ['a', 'b/c%']]);
      expect(await all(there)).toEqual(['4', '3', '2', '1', '0']);
      expect(await all(there, 'a')).toEqual(['2', '1', '0']);
      const found = [];
      const where = ({ metadata }: { metadata?: unknown }): boolean => Number(metadata) % 2 === 0;
      for await (const { values } of there.list(undefined, { before: '4', where }))
        found.push(values);
      expect(found).toEqual([{ n: 2 }, { n: 0 }]);
      expect((await here.get('a'))?.values).toEqual({ n: 0 });
      await there.remove('a');
      expect(await here.threads()).toEqual([['ab'], ['x']]);
      expect(await here.get(['a', '0'])).toBeUndefined();
      await here.save('a', { values: { n: 'again' } });
      expect((await there.get('a'))?.values).toEqual({ n: 'again' });
    });

    it('refuse what they cannot keep, and store nothing', async () => {
      const [here] = both();
      const circle: { self?: unknown } = {};
      circle.self = circle;
      await expect(here.save('t', { values: { n: undefined } })).rejects.toMatchObject({
        code: 'INVALID',
        message: 'a value of a checkpoint has no JSON, pass a codec: got undefined',
      });
      const refused = [
        () => here.save('', { values: {} }),
        () => here.save([], { values: {} }),
        () => here.save([5 as never], { values: {} }),
        () => here.save('t', {} as never),
        () => here.save('t', { values: [1] as never }),
        () => here.save('t', { id: '', values: {} }),
        () => here.save('t', { id: 'x'.repeat(1025), values: {} }),
        () => here.save('t', { values: { circle } }),
        () => here.save('t', { values: { list: [1n] } }),
        () => here.addWrites('t', '', 'task', []),
        () => here.addWrites('t', 'c', '', []),
        () => here.addWrites('t', 'c', 'task', [{ name: 'n', value: 1, number: 0.5 }]),
        () => here.addWrites('t', 'c', 'task', [{ name: 5 as never, value: 1 }]),
        () => here.get(''),
        () => here.remove(''),
      ];
      for (const work of refused) await expect(work()).rejects.toMatchObject({ code: 'INVALID' });
      await expect(here.save('x'.repeat(600), { values: {} })).rejects.toMatchObject({
        code: expect.stringMatching(/INVALID|TOO_LARGE/) as string,
      });
      expect(await here.threads()).toEqual([]);
    });

    it('are what a model in memory says, whichever process saves and reads', async () => {
      const item = fc.oneof(
        fc.integer(),
        fc.string({ size: 'medium' }),
        fc.constant({ a: [null] }),
      );
      const value = fc.oneof({ weight: 3, arbitrary: fc.array(item, { maxLength: 6 }) }, item);
      const key = fc.constantFrom('messages', 'n', '__proto__', 'constructor', 'a/b');
      const step = fc.record({
        process: fc.nat(2),
        parent: fc.option(fc.nat(), { nil: null }),
        changes: fc.dictionary(key, value, { maxKeys: 4 }),
        /** How much of each list of the parent stays. */
        keep: fc.nat(6),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
          const [here, there] = both();
          const model: { id: string; values: Map<string, unknown> }[] = [];
          for (const [n, { process, parent: from, changes, keep }] of steps.entries()) {
            const parent = from === null ? undefined : model[from % Math.max(model.length, 1)];
            const values = new Map(parent?.values);
            for (const [name, given] of Object.entries(changes)) {
              const old = values.get(name);
              const kept: unknown[] = Array.isArray(old) ? old.slice(0, keep) : [];
              values.set(name, Array.isArray(given) ? kept.concat(given) : given);
            }
            if (keep === 0) values.delete('n');
            const id = `c${n}`.padStart(4, '0');
            const saver = [here, there, new Checkpoints(store, { prefix: `run ${made}` })][
              process
            ]!;
            const checkpoint = { id, values: Object.fromEntries(values) };
            await saver.save('t', { ...checkpoint, parent: parent?.id ?? null });
            model.push({ id, values });
          }
          for (const checkpoints of [
            here,
            there,
            new Checkpoints(other, { prefix: `run ${made}` }),
          ]) {
            for (const { id, values } of model)
              expect((await checkpoints.get('t', id))?.values).toEqual(Object.fromEntries(values));
            expect(await all(checkpoints)).toEqual(model.map(({ id }) => id).toReversed());
          }
        }),
        { numRuns: 15 },
      );
    });
  });
}
