import { describe, expect, it } from 'vitest';
import { ReplyVigil } from './reply-vigil.ts';

/** One whose last request was the only one, at its server, too, and answered at once. */
function alone(): ReplyVigil {
  const vigil = new ReplyVigil({ processors: 2, now: () => 0 });
  vigil.sent(true);
  vigil.answered();
  return vigil;
}

describe('ReplyVigil', () => {
  it('waits awake for one request that is alone at its server', () => {
    const vigil = alone();
    expect(vigil.sent(true)).toBe(true);
    vigil.answered();
    expect(vigil.sent(false)).toBe(false);
    vigil.answered();
  });

  it('sleeps while several are under way', () => {
    const vigil = alone();
    expect(vigil.sent(true)).toBe(true);
    expect(vigil.sent(true)).toBe(false);
    vigil.answered();
    expect(vigil.sent(true)).toBe(false);
    vigil.answered();
    vigil.answered();
    expect(vigil.sent(true)).toBe(false);
    vigil.answered();
    expect(vigil.sent(true)).toBe(true);
    vigil.answered();
  });

  it('counts requests that lost their connection no longer', () => {
    const vigil = alone();
    vigil.sent(true);
    vigil.sent(true);
    vigil.lost(2);
    vigil.sent(true);
    vigil.answered();
    expect(vigil.sent(true)).toBe(true);
    vigil.answered();
  });
});
