import fc from 'fast-check';
import { appendFile, truncate, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { claudeCode } from '../../src/import/sources/claude-code.ts';
import { pi } from '../../src/import/sources/pi.ts';
import type { Source } from '../../src/import/source/source.ts';
import { createScene, showAll, toLines } from './rig.ts';

// Whatever happens to the lines of a file, and in however many runs it is read, what can be read is there once.

const ENTRIES = 12;
const header = { type: 'session', version: 3, id: 's1', cwd: '/w' };
const entry = (n: number, parent: number): object => ({
  type: 'message',
  id: `e${n}`,
  parentId: parent < 0 ? null : `e${parent}`,
  message: { role: 'user', content: `text ${n} with a "quote" and a {brace}` },
});
const FILE = '--w--/2026-01-01T00-00-00-000Z_s1.jsonl';

/** A random tree: each entry follows one before it, mostly the last. */
const TREE = fc
  .array(fc.nat({ max: 5 }), { minLength: ENTRIES, maxLength: ENTRIES })
  .map((backs) => backs.map((back, n) => entry(n, n - 1 - (back > 3 ? back - 3 : 0))));

async function branchesOf(
  source: Source,
  scene: Awaited<ReturnType<typeof createScene>>,
): Promise<string[]> {
  return (await showAll(scene.store, source)).map(({ turns }) => JSON.stringify(turns)).toSorted();
}

describe('a tree of entries', () => {
  it('has the same branches in one run, and in many while the file grows', async () => {
    await fc.assert(
      fc.asyncProperty(
        TREE,
        fc.array(fc.nat({ max: 999 }), { maxLength: 4 }),
        async (tree, cuts) => {
          const text = toLines([header, ...tree]);
          const [whole, grown] = [await createScene(), await createScene()];
          await whole.write(FILE, text);
          await whole.run(pi);
          const path = await grown.write(FILE, '');
          const places = cuts
            .map((cut) => Math.floor((text.length * cut) / 1000))
            .toSorted((a, b) => a - b);
          for (const place of [...places, text.length]) {
            await writeFile(path, text.slice(0, place));
            await grown.run(pi);
          }
          expect(await branchesOf(pi, grown)).toEqual(await branchesOf(pi, whole));
          await Promise.all([whole.store.close(), grown.store.close()]);
        },
      ),
      { numRuns: 12 },
    );
  });

  it('has each entry once, in whatever order its lines are', async () => {
    await fc.assert(
      fc.asyncProperty(
        TREE,
        fc.array(fc.nat(), { minLength: ENTRIES, maxLength: ENTRIES }),
        async (tree, keys) => {
          const scene = await createScene();
          const mixed = tree
            .map((one, index) => ({ one, key: keys[index]! }))
            .toSorted((a, b) => a.key - b.key);
          const path = await scene.write(FILE, toLines([header, ...mixed.map(({ one }) => one)]));
          expect(await scene.run(pi)).toMatchObject({ turns: ENTRIES, unlinked: 0, bad: 0 });
          await writeFile(path, toLines([header, ...tree]));
          expect(await scene.run(pi)).toMatchObject({ turns: 0 });
          await scene.store.close();
        },
      ),
      { numRuns: 10 },
    );
  });

  it('keeps what can be read of lines that are torn and glued', async () => {
    await fc.assert(
      fc.asyncProperty(
        TREE,
        fc.array(fc.constantFrom('', '\n', '\0\0', '{"type":"mess'), {
          minLength: ENTRIES,
          maxLength: ENTRIES,
        }),
        async (tree, dirt) => {
          const scene = await createScene();
          const lines = tree.map(
            (one, index) => `${dirt[index]!}${JSON.stringify(one)}${index % 3 === 0 ? '' : '\n'}`,
          );
          await scene.write(FILE, `${JSON.stringify(header)}\n${lines.join('')}\n`);
          const report = await scene.run(pi);
          const spoiled = dirt.filter((one) => one.includes('{') || one.includes('\0')).length;
          expect(report.turns).toBeGreaterThanOrEqual(ENTRIES - 2 * spoiled);
          expect(report.turns).toBeLessThanOrEqual(ENTRIES);
          await scene.store.close();
        },
      ),
      { numRuns: 12 },
    );
  });
});

describe('a file that is cut and written again', () => {
  it('adds only what is new', async () => {
    const scene = await createScene();
    const prompt = (n: number): object => ({
      type: 'user',
      uuid: `u${n}`,
      parentUuid: n === 0 ? null : `u${n - 1}`,
      message: { role: 'user', content: `prompt ${n}` },
    });
    const path = await scene.write('projects/-w/s1.jsonl', [0, 1, 2, 3].map(prompt));
    await scene.run(claudeCode);
    await truncate(path, 30);
    expect(await scene.run(claudeCode)).toMatchObject({ turns: 0, tails: 1 });
    await writeFile(path, toLines([0, 1].map(prompt)));
    await scene.run(claudeCode);
    await appendFile(path, toLines([2, 3, 4].map(prompt)));
    expect(await scene.run(claudeCode)).toMatchObject({ turns: 1 });
    expect((await showAll(scene.store, claudeCode)).map(({ turns }) => turns)).toEqual([
      [0, 1, 2, 3, 4].map((n) => `user: prompt ${n}`),
    ]);
  });
});
