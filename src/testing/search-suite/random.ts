import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { idsOf, searchCases } from './fixture.ts';
import { matches, toQuery, type NaiveDocument, type Wish } from './naive-scan.ts';
import type { SearchTarget } from './search-target.ts';

const WORDS = [
  'alpha',
  'beta',
  'Gamma',
  'getUserName',
  'get_user_name',
  'HTTPServer',
  'user',
  'users',
  'sha256Hex',
  'naïve',
  'Ελλάδα',
  'привет',
  'v8',
  'x',
  'alphabet',
];
const CJK_RUNS = ['日本語', '検索する', '東京', 'テスト', '日', '本日'];
const CJK_QUERIES = ['日本', '語', '検索', '東京', 'テスト', '日', '本'];
const GLUE = [' ', ', ', '.', '/', ' -- ', '\n', ': '];
const ROLES = ['user', 'assistant', 'tool'];

const text = fc
  .array(fc.tuple(fc.constantFrom(...WORDS, ...CJK_RUNS), fc.constantFrom(...GLUE)), {
    minLength: 1,
    maxLength: 14,
  })
  .map((pairs) => pairs.map(([word, glue]) => word + glue).join(''));
const document: fc.Arbitrary<NaiveDocument> = fc.record({ role: fc.constantFrom(...ROLES), text });

const leaf: fc.Arbitrary<Wish> = fc.oneof(
  fc.constantFrom(...WORDS, ...CJK_QUERIES).map((word) => ({ word })),
  fc
    .constantFrom('al', 'get', 'getu', 'us', 'http', 'привет')
    .map((word) => ({ word, prefix: true as const })),
  fc.array(fc.constantFrom(...WORDS), { minLength: 2, maxLength: 3 }).map((phrase) => ({ phrase })),
  fc.constantFrom(...ROLES).map((role) => ({ role })),
);
const { wish } = fc.letrec<{ wish: Wish }>((tie) => ({
  wish: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    leaf,
    fc.array(tie('wish'), { minLength: 2, maxLength: 3 }).map((all) => ({ all })),
    fc.array(tie('wish'), { minLength: 2, maxLength: 3 }).map((any) => ({ any })),
    tie('wish').map((not) => ({ not })),
  ),
}));

export function randomSuite(target: SearchTarget): void {
  const it = searchCases(target);
  describe(`random documents and queries on ${target.name}`, () => {
    it('find what a scan of the texts finds', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(document, { minLength: 1, maxLength: 25 }),
          fc.array(wish, { minLength: 1, maxLength: 12 }),
          async (documents, wishes) => {
            const store = await target.open();
            try {
              const { id } = await store.contexts.create();
              const made = await store.contexts.appendBatch(
                id,
                documents.map(({ role, text: content }) => ({
                  type: 'm',
                  payload: { role, content },
                })),
              );
              for (const one of wishes) {
                const expected = made
                  .filter((_, at) => matches(documents[at] as NaiveDocument, one))
                  .map((turn) => String(turn.id));
                const found = await idsOf(store, toQuery(one));
                expect([toQuery(one), byNumber(found)]).toEqual([toQuery(one), byNumber(expected)]);
              }
            } finally {
              await store.close();
            }
          },
        ),
        { numRuns: target.randomRuns ?? 10 },
      );
    });

    it('would be found to differ', async ({ store }) => {
      const { id } = await store.contexts.create();
      await store.contexts.append(id, {
        type: 'm',
        payload: { role: 'user', content: 'alpha beta' },
      });
      const document_ = { role: 'user', text: 'alpha beta' };
      expect(await idsOf(store, 'alpha')).toHaveLength(
        matches(document_, { word: 'alpha' }) ? 1 : 0,
      );
      expect(matches(document_, { word: 'alp' })).toBe(false);
      expect(matches(document_, { phrase: ['beta', 'alpha'] })).toBe(false);
    });
  });
}

function byNumber(ids: readonly string[]): string[] {
  return ids.toSorted((a, b) => Number(a) - Number(b));
}
