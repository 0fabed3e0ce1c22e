import { describe, expect, it } from 'vitest';
import { failure } from '../engine-suite/fixture.ts';
import { one } from './bundle-source.ts';
import { countBlobs } from '../store-suite/fixture.ts';
import type { StoreTarget } from '../store-suite/store-target.ts';
import { openWorkflows } from './fixture.ts';

export function badBundlesSuite(target: StoreTarget): void {
  describe('a role that fails', () => {
    const failing: Record<string, [string, RegExp]> = {
      throws: [`a: () => { throw new TypeError('oh') }, b: () => ''`, /TypeError: oh/],
      'names what is not stored': [
        `a: () => 'see quipu:${'a'.repeat(64)}', b: () => ''`,
        /quipu:a+, which is not stored/,
      ],
      'returns nonsense': [`a: () => 5, b: () => ''`, /returned number/],
      'ends its thread': [`a: () => process.exit(3), b: () => ''`, /ended its thread/],
      'names a role that is none': [`a: () => 'a', b: () => ''`, /"c" is no role/],
    };

    it.each(Object.entries(failing))(
      '%s ends the thread with 1 and says why',
      async (name, [roles, why]) => {
        const { workflows } = (await openWorkflows(target)).store;
        const source = name.startsWith('names a role')
          ? one(roles).replace("yield 'a'", "yield 'c'")
          : one(roles);
        await workflows.bundles.add(source);
        const result = await workflows.run('one', { prompt: 'go' });
        expect(result).toMatchObject({ state: 'completed', returnCode: 1 });
        expect(result.summary).toMatch(why);
      },
    );

    it('may loop for ever: its time ends, and nothing else does', async () => {
      const { workflows } = (await openWorkflows(target)).store;
      const source = one(`a: () => { for (;;); }, b: () => ''`).replace(
        'a: {}',
        'a: { timeoutMs: 200 }',
      );
      await workflows.bundles.add(source);
      const result = await workflows.run('one', { prompt: 'go' });
      expect(result).toMatchObject({
        returnCode: 1,
        summary: 'the role a took longer than 200 ms',
      });
    });

    it('fails with its command, and time ends that too', async () => {
      const { workflows } = (await openWorkflows(target)).store;
      const bundle = (command: string): string => `
      export const descriptor = { name: 'shell', roles: { a: { command: ${JSON.stringify(command)}, timeoutMs: 300 } } };
      export const table = { __start__: 'a', a: '__end__' };`;
      await workflows.bundles.add(bundle('echo why >&2; exit 3'));
      expect(await workflows.run('shell', { prompt: '' })).toMatchObject({
        returnCode: 1,
        summary: 'the command ended with 3: why',
      });
      await workflows.bundles.add(bundle('sleep 30 & wait'));
      expect((await workflows.run('shell', { prompt: '' })).summary).toMatch(
        /took longer than 300 ms/,
      );
    });
  });

  describe('what is no bundle', () => {
    const wrong: Record<string, [string, RegExp]> = {
      'does not parse': ['export const = 1', /SyntaxError/],
      'exports nothing': ['const x = 1;', /descriptor is an object/],
      'throws when loaded': ['throw new Error("no")', /Error: no/],
      'has a role that nothing does': [
        `export const descriptor = { name: 'x', roles: { a: {} } }; export const table = { __start__: 'a', a: '__end__' };`,
        /one way/,
      ],
      'leads to an unknown role': [
        `export const descriptor = { name: 'x', roles: { a: { command: 'x' } } }; export const table = { __start__: 'b' };`,
        /b, which is no role/,
      ],
      'has neither run nor table': [
        `export const descriptor = { name: 'x', roles: { a: { command: 'x' } } };`,
        /`run` or an object `table`/,
      ],
      'has a schema beyond what is known': [
        `export const descriptor = { name: 'x', roles: { a: { command: 'x', schema: { $ref: '#' } } } }; export function* run() {}`,
        /\$ref; known are/,
      ],
    };

    it.each(Object.entries(wrong))('%s', async (_, [source, why]) => {
      const { engine, store } = await openWorkflows(target);
      const error = await failure(store.workflows.bundles.add(source), 'INVALID');
      expect(error.message).toMatch(why);
      expect(await countBlobs(engine)).toBe(0);
    });
  });
}
