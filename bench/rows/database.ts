import type { Bench } from '../bench.ts';
import { count, ms, percent, times } from './finding.ts';
import type { Row, RowResult } from './finding.ts';

export const databaseRow: Row = {
  name: 'database',
  about: 'a store in PostgreSQL, beside statements written by hand on the same server',
  async run(bench: Bench): Promise<RowResult> {
    const { databaseAppends: size, databaseDeepTurns: from, payloadBytes } = bench.sizes;
    const found = await bench.inTurn(['database'], { size, from, payloadBytes });
    const { perSecond = 0, byHandPerSecond = 0, share = 0 } = found;
    const { lastP50Ms = 0, lastByHandP50Ms = 0, shallowP50Ms = 0, deepP50Ms = 0 } = found;
    const { shortP50Ms = 0, shortByHandP50Ms = 0 } = found;
    const slower = lastP50Ms / lastByHandP50Ms;
    const shortSlower = shortP50Ms / shortByHandP50Ms;
    const deeper = Math.max(shallowP50Ms / deepP50Ms, deepP50Ms / shallowP50Ms);
    return {
      findings: [
        {
          work: 'durable append, 32 connections, PostgreSQL',
          answers: { quipu: `${count(perSecond)}/s`, postgres: `${count(byHandPerSecond)}/s` },
          measured: percent(share),
          must: '>= 50 %',
          met: share >= 0.5,
        },
        {
          work: 'last 64 turns with payloads, PostgreSQL, p50',
          answers: { quipu: ms(lastP50Ms), postgres: ms(lastByHandP50Ms) },
          measured: times(slower),
          must: '<= 2x',
          met: slower <= 2,
        },
        {
          work: 'last 20 turns with payloads, PostgreSQL, p50',
          answers: { quipu: ms(shortP50Ms), postgres: ms(shortByHandP50Ms) },
          measured: times(shortSlower),
          must: '<= 2x',
          met: shortSlower <= 2,
        },
        {
          work: `64 turns at the root of ${count(from)}, and near the head, PostgreSQL, p50`,
          answers: { quipu: `${ms(shallowP50Ms)}, ${ms(deepP50Ms)}` },
          measured: times(deeper),
          must: '<= 1.5x',
          met: deeper <= 1.5,
        },
      ],
    };
  },
};
