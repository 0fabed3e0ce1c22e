import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toTurnId } from '../base/brand.ts';
import type { TurnId } from '../base/brand.ts';
import type { Tips } from '../engine/engine.ts';
import { WatchPosition } from './watch-page.ts';

const FAR: Tips = { turn: toTurnId(2 ** 53 - 1), context: 2n ** 53n, patch: 2 ** 53, open: [] };

describe('a position', () => {
  it('survives being text', () => {
    const id = fc.bigInt({ min: 1n, max: 2n ** 52n });
    const sample = fc.record({ turn: id, context: id, patch: fc.nat(), open: fc.uniqueArray(id) });
    fc.assert(
      fc.property(sample, ({ turn, context, patch, open }) => {
        const newest = [turn, ...open].reduce((a, b) => (a > b ? a : b)) as TurnId;
        const tips = { turn: newest, context, patch, open: open as TurnId[] };
        const text = String(new WatchPosition(tips));
        const again = WatchPosition.parse(text, FAR);
        expect(String(again)).toBe(text);
        expect(again).toMatchObject({ turn: newest, context, patch });
        expect(again.open).toEqual(new Set(open));
      }),
    );
  });

  it('is refused when it is anything else, or ahead of the store', () => {
    const texts = [
      '',
      '1',
      '1.1.1.1',
      '2.1.1.1.',
      '1.1.1.1.-',
      '1.1.1.1.1--1',
      '1.A.1.1.',
      '1.1.1.1.z',
    ];
    for (const text of [...texts, '1.1.1.1.\n', `1.${'z'.repeat(12)}.1.1.`]) {
      expect(() => WatchPosition.parse(text, FAR), text).toThrow(/^after /);
    }
    const now = { turn: toTurnId(5), context: 3n, patch: 1, open: [] };
    expect(String(WatchPosition.parse('1.5.3.1.2', now))).toBe('1.5.3.1.2');
    for (const text of ['1.6.3.1.', '1.5.4.1.', '1.5.3.2.']) {
      expect(() => WatchPosition.parse(text, now), text).toThrow(/ahead of this store/);
    }
  });
});
