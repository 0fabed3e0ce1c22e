import { expect, it } from 'vitest';
import { readProject } from '../support/project.ts';
import { openWorkflows } from '../../src/testing/workflow-suite/fixture.ts';
import { filesTarget } from '../support/files-target.ts';

const target = filesTarget();

it('the examples run to their end, with a child and a summary', async () => {
  const { store } = await openWorkflows(target);
  const { workflows } = store;
  for (const name of ['solve-issue', 'write-report']) {
    await workflows.bundles.add(readProject(`examples/${name}.mjs`));
  }
  const prompt = 'The parser drops the last line.';
  const solved = await workflows.run('solve-issue', { prompt });
  expect(solved).toMatchObject({ state: 'completed', returnCode: 0 });
  const two = ['coder', 'reviewer'];
  const { steps } = await workflows.steps(solved.threadId);
  expect(steps.map(({ role }) => role)).toEqual(['planner', ...two, ...two, '__end__']);
  expect(steps[0]).toMatchObject({ meta: { steps: 2 } });

  const report = await workflows.run('write-report', { prompt: 'A report.' });
  expect(report).toMatchObject({ returnCode: 0, summary: '2 chapters' });
  const context = await workflows.context(report.threadId);
  expect(context.summary).toBe('2 steps, 1 of them chapters. 2 steps, 1 of them chapters. ');
  expect(context.steps.map(({ role }) => role)).toEqual(['__end__']);
  const chapters = (await workflows.steps(report.threadId)).steps.filter(
    (s) => s.role === 'author',
  );
  expect(chapters.map(({ meta }) => meta)).toEqual([
    { knowsSummary: false },
    { knowsSummary: true },
  ]);
  expect((await workflows.list({ state: 'completed' })).items).toHaveLength(4);
  // What a collection leaves is all that the four threads and the two bundles need.
  await store.maintain.gc({ graceMs: 0, all: true });
  for (const { head, start } of (await workflows.list({ state: 'completed' })).items) {
    expect((await workflows.findReachableHashes([head, start])).size).toBeGreaterThan(5);
  }
});
