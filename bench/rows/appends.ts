import { figure, ratio } from '../bench.ts';
import type { Bench } from '../bench.ts';
import type { DriverName } from '../drivers/driver.ts';
import { latency, rates } from './answers.ts';
import { ms, times } from './finding.ts';
import type { Row, RowResult } from './finding.ts';

const ALL: readonly DriverName[] = ['quipu', 'raw-file', 'sqlite', 'json-lines'];

export const appendOneRow: Row = {
  name: 'append-one',
  about: 'durable append, one writer',
  async run(bench: Bench): Promise<RowResult> {
    const rounds = await bench.rounds('append-one', ALL, bench.sizes.oneWriterAppends);
    const p50 = ratio(rounds, ['quipu', 'raw-file'], 'p50Ms');
    const p99 = ratio(rounds, ['quipu', 'raw-file'], 'p99Ms');
    return {
      findings: [
        latency(rounds, 'p50Ms', {
          work: 'durable append, one writer, p50',
          measured: `${times(p50)} raw`,
          must: '<= 2x raw (aim 1.3x)',
          met: p50 <= 2,
        }),
        latency(rounds, 'p99Ms', {
          work: 'durable append, one writer, p99',
          measured: `${times(p99)} raw`,
          must: '',
          met: undefined,
        }),
      ],
    };
  },
};

export const appendManyRow: Row = {
  name: 'append-many',
  about: 'durable append, 64 writers',
  async run(bench: Bench): Promise<RowResult> {
    const rounds = await bench.rounds('append-many', ALL, bench.sizes.manyWritersAppends);
    const faster = ratio(rounds, ['quipu', 'sqlite'], 'perSecond');
    return {
      findings: [
        {
          work: 'durable append, 64 writers',
          answers: rates(rounds),
          measured: `${times(faster)} SQLite`,
          must: '>= 3x SQLite (aim 6x)',
          met: faster >= 3,
        },
      ],
    };
  },
};

export const lastTurnsRow: Row = {
  name: 'last-64',
  about: 'the last 64 turns, warm, with payloads',
  async run(bench: Bench): Promise<RowResult> {
    const drivers = ALL.filter((driver) => driver !== 'raw-file');
    const rounds = await bench.rounds('last-turns', drivers, bench.sizes.reads);
    const p50 = figure(rounds, 'quipu', 'p50Ms');
    const faster = ratio(rounds, ['sqlite', 'quipu'], 'p50Ms');
    return {
      findings: [
        latency(rounds, 'p50Ms', {
          work: 'last 64 turns with payloads, warm, p50',
          measured: `${ms(p50)}, ${times(faster)} faster than SQLite`,
          must: '< 1 ms, >= 3x',
          met: p50 < 1 && faster >= 3,
        }),
      ],
    };
  },
};
