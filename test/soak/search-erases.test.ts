import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openStore } from '../../src/open-store.ts';
import { SeededRandom } from '../../src/testing/disk/seeded-random.ts';
import { freshFolder } from '../../src/testing/fresh-folder.ts';

/*
 * Invariant: after many erasures in any order, no erased word is found, and none is in the files of the index.
 */
const ERASED = Number(process.env['QUIPU_ERASES'] ?? 10_000);
const KEPT = 1000;
const LOOK_EVERY = 50;

function wordOf(nth: number): string {
  return `qzx${(nth * 7919 + 100_003).toString(36)}jvq`;
}

it(`${ERASED} random erasures leave no word`, { timeout: 3_600_000 }, async () => {
  const folder = freshFolder('quipu-search-erases-');
  const store = await openStore(folder, { durability: 'unsafe' });
  const { id } = await store.contexts.create();
  const turns: { id: bigint; word: string }[] = [];
  for (let nth = 0; nth < ERASED + KEPT; nth += 500) {
    const words = Array.from({ length: 500 }, (_, at) => wordOf(nth + at));
    const made = await store.contexts.appendBatch(
      id,
      words.map((word) => ({ type: 'm', payload: `it is ${word} here` })),
    );
    for (const [at, turn] of made.entries()) turns.push({ id: turn.id, word: words[at] ?? '' });
  }
  expect((await store.search(wordOf(7), { waitMs: 600_000 })).hits).toHaveLength(1);

  const random = new SeededRandom(19);
  const left = [...turns];
  const erased: string[] = [];
  for (let nth = 0; nth < ERASED; nth += 1) {
    const [one] = left.splice(random.below(left.length), 1);
    await store.contexts.erase(one?.id ?? 0n, { reason: 'asked to' });
    erased.push(one?.word ?? '');
    if (nth % LOOK_EVERY !== 0) continue;
    expect((await store.search(one?.word ?? '', { waitMs: 600_000 })).hits).toEqual([]);
  }
  for (const name of readdirSync(folder).filter((one) => one.startsWith('search.db'))) {
    const bytes = readFileSync(join(folder, name)).toString('latin1');
    expect([name, erased.filter((word) => bytes.includes(word))]).toEqual([name, []]);
  }
  expect((await store.search(left[0]?.word ?? '', { waitMs: 600_000 })).hits).toHaveLength(1);
  await store.close();
});
