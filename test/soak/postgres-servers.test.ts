import { expect, it } from 'vitest';
import { runHistory } from '../postgres/servers-history.ts';

it('keeps its word through three servers for half a minute of kills', async () => {
  const history = await runHistory({ seconds: 30, databaseKills: [8, 20], serverKillMs: 2000 });
  expect(history.problems).toEqual([]);
  expect(history.errors).toEqual([]);
  expect(history.serverKills).toBeGreaterThan(8);
  process.stdout.write(`${history.acknowledged} appends were acknowledged, and kept\n`);
});

it('would notice writers that do again what they do not know to be done', async () => {
  const history = await runHistory({
    seconds: 10,
    databaseKills: [2, 6],
    serverKillMs: 2000,
    timeoutMs: 300,
    blind: true,
  });
  expect(history.errors.length).toBeGreaterThan(0);
  expect(history.problems.filter((problem) => problem.includes('is there twice'))).not.toEqual([]);
});
