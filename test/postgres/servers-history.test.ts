import { expect, it } from 'vitest';
import { runHistory } from './servers-history.ts';

/*
 * Invariant: whichever server is killed, and however often the database is, no acknowledged append is lost, none is
 * doubled, the head of every context moves in the order of time and never back, and no id is used twice.
 */
it(
  'keeps its word through three servers while they and the database are killed',
  { timeout: 90_000 },
  async () => {
    const history = await runHistory({ seconds: 10, databaseKills: [3, 7], serverKillMs: 2000 });
    expect(history.problems).toEqual([]);
    expect(history.serverKills).toBeGreaterThan(2);
    // On a busy machine little more than a hundred appends fit between the kills.
    expect(history.acknowledged).toBeGreaterThan(30);
    expect(history.errors).toEqual([]);
  },
);
