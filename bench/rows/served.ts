import { difference, figure, ratio } from '../bench.ts';
import type { Bench, Rounds } from '../bench.ts';
import type { DriverName } from '../drivers/driver.ts';
import { latency, rates } from './answers.ts';
import { count, ms, percent, times } from './finding.ts';
import type { Row, RowResult } from './finding.ts';

// Quipu behind a server, beside the same store embedded.

/** Of what the same bytes take to a server that only answers: the floor of two processes that sleep. */
const MORE_ECHOES_MAX = 3;
const PIPELINED_SHARE_MIN = 0.6;
const MANY_PER_SECOND_MIN = 7000;
const LAST_MS_MAX = 1;

export const tcpOneRow: Row = {
  name: 'tcp-one',
  about: 'durable append over TCP, one connection, one after the other',
  async run(bench: Bench): Promise<RowResult> {
    const rounds = await bench.rounds('append-one', ['quipu', 'tcp'], bench.sizes.servedAppends);
    const more = difference(rounds, ['tcp', 'quipu'], 'p50Ms');
    const bare = await bench.rounds('echo', ['tcp'], bench.sizes.servedAppends);
    const most = MORE_ECHOES_MAX * figure(bare, 'tcp', 'p50Ms');
    return {
      findings: [
        latency(rounds, 'p50Ms', {
          work: 'durable append over TCP, one after the other, p50',
          measured: `embedded ${signed(more)}`,
          must: `<= embedded + ${MORE_ECHOES_MAX}x the echo below (${signed(most)})`,
          met: more <= most,
        }),
        latency(rounds, 'p99Ms', {
          work: 'durable append over TCP, one after the other, p99',
          measured: `embedded ${signed(difference(rounds, ['tcp', 'quipu'], 'p99Ms'))}`,
          must: '',
          met: undefined,
        }),
        latency(bare, 'p50Ms', {
          work: 'the same bytes to a server that only answers, and back, p50',
          measured: '',
          must: '',
          met: undefined,
        }),
      ],
    };
  },
};

export const tcpPipelinedRow: Row = {
  name: 'tcp-pipelined',
  about: 'durable append over TCP, one connection, 64 in flight',
  async run(bench: Bench): Promise<RowResult> {
    const { rounds, share, busy } = await appendMany(bench, 'tcp');
    return {
      findings: [
        {
          work: 'durable append over TCP, one connection, 64 in flight',
          answers: rates(rounds),
          measured: `${percent(share)} of embedded with 64 writers, ${busy}`,
          must: `>= ${percent(PIPELINED_SHARE_MIN)}`,
          met: share >= PIPELINED_SHARE_MIN,
        },
      ],
    };
  },
};

export const tcpManyRow: Row = {
  name: 'tcp-many',
  about: 'durable append over TCP, 64 connections',
  async run(bench: Bench): Promise<RowResult> {
    const { rounds, share, busy } = await appendMany(bench, 'tcp-each');
    const perSecond = figure(rounds, 'tcp-each', 'perSecond');
    return {
      findings: [
        {
          work: 'durable append over TCP, 64 connections of one client process',
          answers: rates(rounds),
          measured: `${count(perSecond)}/s, ${percent(share)} of embedded with 64 writers, ${busy}`,
          must: `>= ${count(MANY_PER_SECOND_MIN)}/s (absolute)`,
          met: perSecond >= MANY_PER_SECOND_MIN,
        },
      ],
    };
  },
};

export const tcpLastTurnsRow: Row = {
  name: 'tcp-last-64',
  about: 'the last 64 turns, warm, with payloads, over TCP and HTTP',
  async run(bench: Bench): Promise<RowResult> {
    const drivers = ['quipu', 'tcp', 'http'] as const;
    const rounds = await bench.rounds('last-turns', drivers, bench.sizes.reads);
    const p50 = figure(rounds, 'tcp', 'p50Ms');
    const tcp = times(ratio(rounds, ['tcp', 'quipu'], 'p50Ms'));
    const http = times(ratio(rounds, ['http', 'quipu'], 'p50Ms'));
    return {
      findings: [
        latency(rounds, 'p50Ms', {
          work: 'last 64 turns with payloads over TCP, warm, p50',
          measured: `${ms(p50)}, ${tcp} embedded (HTTP ${http})`,
          must: `< ${LAST_MS_MAX} ms (absolute)`,
          met: p50 < LAST_MS_MAX,
        }),
      ],
    };
  },
};

async function appendMany(
  bench: Bench,
  served: DriverName,
): Promise<{ rounds: Rounds; share: number; busy: string }> {
  const size = bench.sizes.manyWritersAppends;
  const rounds = await bench.rounds('append-many', ['quipu', served], size);
  const share = ratio(rounds, [served, 'quipu'], 'perSecond');
  return { rounds, share, busy: `client ${percent(figure(rounds, served, 'busy'))} busy` };
}

function signed(valueMs: number): string {
  return `${valueMs < 0 ? '-' : '+'} ${ms(Math.abs(valueMs))}`;
}
