import { describe, expect, it } from 'vitest';
import { parseRefs } from './named-blobs.ts';

const HASH = 'ab'.repeat(32);

describe('parseRefs', () => {
  const refsOf = (text: string): readonly string[] => parseRefs(new TextEncoder().encode(text));

  it('reads the refs of a node and passes over empty places', () => {
    const node = { type: 'state', payload: 1, refs: [HASH, null, HASH.toUpperCase(), 'x', HASH] };
    expect(refsOf(JSON.stringify(node))).toEqual([HASH, HASH]);
  });

  it('reads the summary that a state has beside its refs', () => {
    const node = { type: 'state', payload: { compact: HASH }, refs: [null] };
    expect(refsOf(JSON.stringify(node))).toEqual([HASH]);
    expect(refsOf(JSON.stringify({ ...node, payload: { compact: null } }))).toEqual([]);
  });

  it.each(['', '{', '[]', 'null', `"${HASH}"`, '{"refs":1}', `{"payload":["${HASH}"]}`, ' {}'])(
    'finds none in %j',
    (text) => {
      expect(refsOf(text)).toEqual([]);
    },
  );
});
