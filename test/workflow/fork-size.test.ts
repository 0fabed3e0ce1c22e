import { expect, it } from 'vitest';
import { measureForks } from './measure-forks.ts';

it('a fork takes less than 1 KiB, and no blob', async () => {
  const { bytesPerFork, ...rest } = await measureForks(300, 100);
  expect(bytesPerFork).toBeLessThan(1024);
  const same = { indexSame: true, headsSame: true, backupSame: true };
  expect(rest).toEqual({ blobsAdded: 0, problems: [], ...same });
});
