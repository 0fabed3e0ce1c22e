import { describe, expect, it } from 'vitest';
import { ReplyVigil } from './reply-vigil.ts';

/** One whose last request was the only one, at its server, too, and answered at once. */
function alone(): ReplyVigil {
  const vigil = new ReplyVigil({ processors: 2, now: () => 0 });
  for (let i = 0; i < 2; i += 1) {
    vigil.sent();
    vigil.answered(true);
  }
  return vigil;
}

describe('ReplyVigil', () => {
  it('waits awake for one request that is alone at its server', () => {
    const vigil = alone();
    expect(vigil.sent()).toBe(true);
    vigil.answered(false);
    expect(vigil.sent()).toBe(false);
    vigil.answered(true);
  });

  it('sleeps while several are under way', () => {
    const vigil = alone();
    expect(vigil.sent()).toBe(true);
    expect(vigil.sent()).toBe(false);
    vigil.answered(true);
    expect(vigil.sent()).toBe(false);
    vigil.answered(true);
    vigil.answered(true);
    expect(vigil.sent()).toBe(false);
    vigil.answered(true);
    expect(vigil.sent()).toBe(true);
    vigil.answered(true);
  });

  it('counts requests that lost their connection no longer', () => {
    const vigil = alone();
    vigil.sent();
    vigil.sent();
    vigil.lost(2);
    vigil.sent();
    vigil.answered(true);
    expect(vigil.sent()).toBe(true);
    vigil.answered(true);
  });
});
