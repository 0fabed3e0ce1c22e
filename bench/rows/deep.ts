import type { Bench } from '../bench.ts';
import type { DriverName } from '../drivers/driver.ts';
import { count, megabytes, ms, times, us } from './finding.ts';
import type { Row, RowResult } from './finding.ts';

const DEEP: readonly DriverName[] = ['quipu', 'sqlite', 'json-lines'];
/** A fork of JSON Lines copies the thread, and SQLite walks it: a few times are enough to see it. */
const SLOW_FORKS = 8;
const SLOW_RANGES = 4;

export const forkRow: Row = {
  name: 'fork',
  about: 'fork near the root and at the end of a deep thread',
  async run(bench: Bench): Promise<RowResult> {
    const turns = bench.sizes.deepTurns;
    const answers: Partial<Record<DriverName, string>> = {};
    let growth = Number.NaN;
    for (const driver of DEEP) {
      await bench.grow(driver, turns);
      const forks = driver === 'json-lines' ? SLOW_FORKS : bench.sizes.forks;
      const { nearMs = 0, middleMs = 0, farMs = 0 } = await bench.onGrown('fork', driver, forks);
      answers[driver] = [nearMs, middleMs, farMs].map(us).join(', ');
      if (driver === 'quipu')
        growth = Math.max(nearMs, middleMs, farMs) / Math.min(nearMs, middleMs, farMs);
    }
    return {
      findings: [
        {
          work: `fork at depth 10, 1,000 and ${count(turns)}, without syncs, p50`,
          answers,
          measured: `${times(growth)} from the fastest to the slowest`,
          must: 'constant (<= 1.5x)',
          met: growth <= 1.5,
        },
      ],
    };
  },
};

export const rangeRow: Row = {
  name: 'range',
  about: '64 turns by depth from anywhere in a deep thread',
  async run(bench: Bench): Promise<RowResult> {
    const turns = bench.sizes.deepTurns;
    const most = 64 + 2 * Math.log2(turns);
    const answers: Partial<Record<DriverName, string>> = {};
    let reads = 0;
    for (const driver of DEEP) {
      await bench.grow(driver, turns);
      const ranges = driver === 'sqlite' ? SLOW_RANGES : bench.sizes.ranges;
      const { p50Ms = 0, mostReads = 0 } = await bench.onGrown('range', driver, ranges);
      answers[driver] = ms(p50Ms);
      if (driver === 'quipu') reads = mostReads;
    }
    return {
      findings: [
        {
          work: `64 turns by depth of ${count(turns)}, p50`,
          answers,
          measured: `${reads} record reads at most`,
          must: `<= 64 + 2 log2 n = ${Math.floor(most)} reads`,
          met: reads <= most,
        },
      ],
    };
  },
};

export const openRow: Row = {
  name: 'open',
  about: 'opening a store of many turns',
  async run(bench: Bench): Promise<RowResult> {
    const turns = bench.sizes.deepTurns;
    await bench.grow('quipu', turns);
    const { openMs = Number.NaN, rssBytes = Number.NaN } = await bench.onGrown('open', 'quipu', 1);
    return {
      findings: [
        {
          work: `open with ${count(turns)} turns`,
          answers: { quipu: `${ms(openMs)}, RSS ${megabytes(rssBytes)}` },
          measured: `${ms(openMs)}, ${megabytes(rssBytes)}`,
          must: '< 200 ms, RSS < 200 MB',
          met: openMs < 200 && rssBytes < 200e6,
        },
      ],
    };
  },
};
