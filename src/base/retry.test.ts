import { describe, expect, it } from 'vitest';
import { QuipuError, notFound } from './errors.ts';
import { untilFirst, pauseMs } from './retry.ts';

const moved = new QuipuError('HEAD_MOVED', 'moved', { context: 'c', expected: '1', head: '2' });

/** An attempt that loses `times` times. */
function losing(times: number, error: Error = moved): { tries: number; go(): Promise<string> } {
  return {
    tries: 0,
    async go() {
      this.tries += 1;
      if (this.tries <= times) throw error;
      return 'done';
    },
  };
}

describe('untilFirst', () => {
  it('tries again when another writer was first, and looks again before', async () => {
    const attempt = losing(3);
    const seen: number[] = [];
    const lookAgain = async (): Promise<void> => void seen.push(attempt.tries);
    expect(await untilFirst(() => attempt.go(), { lookAgain })).toBe('done');
    expect(seen).toEqual([1, 2, 3]);
  });

  it('ends with any other error, and after 200 tries', async () => {
    const gone = notFound('turn', '1');
    const other = losing(1, gone);
    await expect(untilFirst(() => other.go())).rejects.toBe(gone);
    expect(other.tries).toBe(1);
    const isLost = (error: unknown): boolean => error === gone;
    expect(await untilFirst(() => losing(0).go(), { isLost })).toBe('done');
    const never = losing(Infinity, gone);
    await expect(untilFirst(() => never.go(), { isLost })).rejects.toBe(gone);
    expect(never.tries).toBe(200);
  });
});

describe('pauseMs', () => {
  it('grows to a second and no further', () => {
    expect(pauseMs(0)).toBeLessThanOrEqual(10);
    for (const attempt of [7, 20, 5000]) {
      expect(pauseMs(attempt)).toBeGreaterThanOrEqual(500);
      expect(pauseMs(attempt)).toBeLessThanOrEqual(1000);
    }
  });
});
