import { describe, expect, it } from 'vitest';
import { QuipuError } from '../base/errors.ts';
import { outcomeUnknown, timedOut, unavailable, withRetries } from './transport.ts';

const plan = { timeoutMs: 5000, repeatable: true, isOver: () => false };

/** Fails with each of these in turn, then works. */
function failing(...errors: readonly Error[]): () => Promise<string> {
  const left = [...errors];
  return async () => {
    const error = left.shift();
    if (error !== undefined) throw error;
    return 'done';
  };
}

describe('withRetries', () => {
  it('tries again when nobody answered', async () => {
    const errors = [unavailable('gone'), outcomeUnknown('lost'), unavailable('gone')];
    expect(await withRetries(failing(...errors), plan)).toBe('done');
  });

  it('does not repeat what may have been done, unless that is safe', async () => {
    const once = { ...plan, repeatable: false };
    const lost = outcomeUnknown('lost');
    await expect(withRetries(failing(lost), once)).rejects.toBe(lost);
    expect(await withRetries(failing(unavailable('gone')), once)).toBe('done');
    const late = timedOut('x', 1, true);
    await expect(withRetries(failing(late), once)).rejects.toBe(late);
  });

  it('passes on what another attempt would not change', async () => {
    const error = new QuipuError('NOT_FOUND', 'no', { what: 'turn', id: '1' });
    await expect(withRetries(failing(error), plan)).rejects.toBe(error);
    const bug = new TypeError('bug');
    await expect(withRetries(failing(bug), plan)).rejects.toBe(bug);
  });

  it('stops when the time is up or the client goes', async () => {
    const gone = unavailable('gone');
    const always = (): Promise<never> => Promise.reject(gone);
    const began = Date.now();
    await expect(withRetries(always, { ...plan, timeoutMs: 60 })).rejects.toBe(gone);
    expect(Date.now() - began).toBeLessThan(plan.timeoutMs);
    await expect(withRetries(always, { ...plan, isOver: () => true })).rejects.toBe(gone);
  });

  it('gives each attempt the time that is left', async () => {
    const given: number[] = [];
    const work = failing(unavailable('a'), unavailable('b'));
    await withRetries(async (timeoutMs) => {
      given.push(timeoutMs);
      return work();
    }, plan);
    expect(given.toSorted((a, b) => b - a)).toEqual(given);
    expect(given[2]).toBeLessThan(5000);
  });
});
