import { expect, it } from 'vitest';
import type { Core } from '../core/core.ts';
import { Compressor } from '../compress/compressor.ts';
import type { Submission } from './commit-queue.ts';
import { Pipeline, type PipelineParts } from './pipeline.ts';

it('tells every commit of a group that could not even be planned, and lets go of what each held', async () => {
  let released = 0;
  const submission = (): Submission => ({
    batch: { changes: {}, blobs: [], extents: [], relies: [] },
    jobs: [],
    release() {
      released += 1;
      return undefined;
    },
  });
  const core = {
    seq: 0,
    files: { io: {} },
    startDraft() {
      throw new Error('no clock');
    },
  } as unknown as Core;
  // A group that cannot be planned reaches none of the other parts.
  const parts = { core, reserve: {}, compressor: new Compressor(), clock: () => 0 };
  const pipeline = new Pipeline(parts as unknown as PipelineParts);

  const sent = [pipeline.submit(submission()), pipeline.submit(submission())];
  for (const commit of sent) await expect(commit).rejects.toThrow('no clock');
  expect(released).toBe(2);
  expect(pipeline.underWay).toBe(0);
  await expect(pipeline.submit(submission())).rejects.toThrow('no clock');
});
