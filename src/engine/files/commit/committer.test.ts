import { expect, it } from 'vitest';
import { Committer, type CommitTarget } from './committer.ts';
import { Squeezer } from '../squeeze/squeezer.ts';
import type { Submission } from './waiting-commit.ts';

it('tells every commit of a group that could not even be planned, and lets go of what each held', async () => {
  let released = 0;
  const submission = (): Submission => ({
    batch: { rest: {}, blobs: [], extents: [], relies: [] },
    jobs: [],
    release() {
      released += 1;
      return undefined;
    },
  });
  const unreached = (): never => {
    throw new Error('nothing was planned');
  };
  const target: CommitTarget = {
    isShortOfRoom: false,
    startDraft() {
      throw new Error('no clock');
    },
    store: unreached,
    announce: unreached,
    mend: unreached,
    finish: async () => undefined,
    endOfTurn: async () => undefined,
  };
  const committer = new Committer(target, new Squeezer(), 0);

  const sent = [committer.submit(submission()), committer.submit(submission())];
  for (const commit of sent) await expect(commit).rejects.toThrow('no clock');
  expect(released).toBe(2);
  expect(committer.underWay).toBe(0);
  await expect(committer.submit(submission())).rejects.toThrow('no clock');
});
