import { expect, it } from 'vitest';
import { readProject } from '../support/project.ts';
import { serveHttp } from '../service/http-rig.ts';
import { runExample } from '../support/run-example.ts';
import { freshFolder } from '../../src/testing/fresh-folder.ts';

it('chat-agent.mjs remembers what was said, in 40 lines', async () => {
  const folder = freshFolder();
  const first = await runExample('chat-agent.mjs', [folder, 'Who?']);
  expect(first.lines).toEqual(['You have asked 1 questions. The last one was: Who?']);
  const second = await runExample('chat-agent.mjs', [folder, 'Why?']);
  expect(second.lines).toEqual(['You have asked 2 questions. The last one was: Why?']);
  expect(readProject('examples/chat-agent.mjs').split('\n').length).toBeLessThanOrEqual(40);
});

it('undo-and-branches.mjs shows each way', async () => {
  const { lines } = await runExample('undo-and-branches.mjs', [freshFolder()]);
  expect(lines).toEqual([
    'main: read the code > rewrite it all',
    'undo: read the code',
    'redo: read the code > rewrite it all',
    'branch: read the code > fix one line > add a test',
    'common: turn 1; only in main: 1; only in branch: 2',
    'main: read the code > fix one line > add a test > ship it',
  ]);
});

it('crash-in-mid-stream.mjs has every word that was flushed before the kill', async () => {
  const folder = freshFolder();
  const first = await runExample('crash-in-mid-stream.mjs', [folder], 'upon');
  expect(first.killed).toBe(true);
  const second = await runExample('crash-in-mid-stream.mjs', [folder]);
  expect(second.lines[0]).toMatch(/^saved before the crash: Once upon/);
  expect(second.lines.slice(1)).toEqual(['Once', 'upon', 'a', 'time', 'it', 'rained.']);
  const third = await runExample('crash-in-mid-stream.mjs', [folder]);
  expect(third.lines).toEqual(['the whole story: Once upon a time it rained.']);
});

it('queue-between-agents.mjs loses no task when the boss is killed', async () => {
  const folder = freshFolder();
  const worker = runExample('queue-between-agents.mjs', [folder, 'worker']);
  const all = ['read the log: done', 'find the cause: done', 'write a fix: done'];
  const boss = await runExample('queue-between-agents.mjs', [folder, 'boss'], all[0]);
  expect(boss.lines[0]).toBe(all[0]);
  const next = await runExample('queue-between-agents.mjs', [folder, 'boss']);
  expect(next.lines).toEqual(all);
  expect((await worker).killed).toBe(false);
});

it('durable-stream.mjs writes each step once, though it is killed', async () => {
  const { url } = await serveHttp();
  const findings = [1, 2, 3, 4, 5].map((step) => `finding ${step}`);
  const first = await runExample('durable-stream.mjs', [url], 'finding 3');
  expect(first.killed).toBe(true);
  const second = await runExample('durable-stream.mjs', [url]);
  const end = `the reader saw ${findings.join(', ')}`;
  expect(second.lines.at(-1)).toBe(end);
  expect(second.lines).not.toContain('finding 3');
  expect(second.lines).toContain('finding 5');
  expect((await runExample('durable-stream.mjs', [url])).lines).toEqual([end]);
});
