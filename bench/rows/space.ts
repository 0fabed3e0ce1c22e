import { figure } from '../bench.ts';
import type { Bench } from '../bench.ts';
import { megabytes } from './finding.ts';
import type { Finding, Row, RowResult } from './finding.ts';

/** Short sessions show what a store costs by itself, long ones what it saves. Both are judged. */
const SESSION_TURNS: readonly number[] = [50, 100];

export const sessionsRow: Row = {
  name: 'sessions',
  about: 'bytes on disk for sessions that were forked',
  async run(bench: Bench): Promise<RowResult> {
    const findings: Finding[] = [];
    for (const turns of SESSION_TURNS) findings.push(await measureSessions(bench, turns));
    return { findings };
  },
};

async function measureSessions(bench: Bench, turns: number): Promise<Finding> {
  const { sessions } = bench.sizes;
  const drivers = ['quipu', 'sqlite', 'json-lines'] as const;
  const rounds = await bench.once('sessions', drivers, { size: sessions, from: turns });
  const share = figure(rounds, 'json-lines', 'diskBytes') / figure(rounds, 'quipu', 'diskBytes');
  return {
    work: `bytes on disk: ${sessions} sessions of ${turns} turns, 10 forks each`,
    answers: Object.fromEntries(
      drivers.map((driver) => [driver, megabytes(figure(rounds, driver, 'diskBytes'))]),
    ),
    measured: `1/${share.toFixed(1)} of JSON Lines`,
    must: '<= 1/8 of JSON Lines',
    met: share >= 8,
  };
}

export const blobRow: Row = {
  name: 'blob',
  about: 'a large blob in and out as a stream',
  async run(bench: Bench): Promise<RowResult> {
    const { blobBytes } = bench.sizes;
    const rounds = await bench.once('blob', ['quipu'], { size: blobBytes });
    const rate = (name: string): string =>
      `${(blobBytes / 1e6 / figure(rounds, 'quipu', name)).toFixed(0)} MB/s`;
    const rss = figure(rounds, 'quipu', 'rssBytes');
    return {
      findings: [
        {
          work: `a blob of ${megabytes(blobBytes)} put and streamed back`,
          answers: { quipu: `put ${rate('putSeconds')}, read ${rate('streamSeconds')}` },
          measured: `peak RSS ${megabytes(rss)}`,
          must: 'RSS < 300 MB',
          met: rss < 300e6,
        },
      ],
    };
  },
};
