import { expect, it } from 'vitest';
import { measureForks } from '../workflow/measure-forks.ts';

it('100 forks at random points of 10,000 steps take less than 1 KiB each', async () => {
  const { bytesPerFork, ...rest } = await measureForks(10_000, 100);
  expect(bytesPerFork).toBeLessThan(1024);
  const same = { indexSame: true, headsSame: true, backupSame: true };
  expect(rest).toEqual({ blobsAdded: 0, problems: [], ...same });
}, 120_000);
