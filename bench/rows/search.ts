import type { Bench } from '../bench.ts';
import { count, megabytes, ms, percent, times } from './finding.ts';
import type { Finding, Row, RowResult } from './finding.ts';

const CLASSES = ['common', 'rare', 'phrase', 'prefix', 'cjk'];
const P50_MS_MAX = 30;
const P99_MS_MAX = 150;
const BARE_MAX = 1.5;
const RATE_MIN = 0.7;
const APPEND_MAX = 1.1;
const SIZE_MAX = 0.6;
const RSS_BYTES_MAX = 100e6;

export const searchRow: Row = {
  name: 'search',
  about: 'the index of everything that was said: queries, building it, its size',
  async run(bench: Bench): Promise<RowResult> {
    const { searchTurns: size, payloadBytes } = bench.sizes;
    const found = await bench.inTurn(['search-fill', 'search'], { size, payloadBytes });
    const of = (name: string): number => found[name] ?? Number.NaN;
    const what = `${count(size)} turns, ${megabytes(of('bytes'))}`;
    const rate = of('bareInsertMs') / of('indexMs');
    const slower = of('busyMs') / of('quietMs');
    const share = of('indexBytes') / of('bytes');
    const apart = of('apartIndexBytes') / of('apartBytes');
    const rss = Math.max(of('builtRssBytes'), of('rssBytes'));
    return {
      findings: [
        ...CLASSES.map((name) => queryFinding(name, what, of)),
        {
          work: `build the index of ${what}`,
          answers: {
            quipu: perSecond(of('bytes'), of('indexMs')),
            sqlite: perSecond(of('bytes'), of('bareInsertMs')),
          },
          measured: `${percent(rate)} of a bare contentless insert`,
          must: `>= ${percent(RATE_MIN)}`,
          met: rate >= RATE_MIN,
        },
        {
          work: 'appends while the index is built, p50',
          answers: { quipu: ms(of('busyMs')) },
          measured: `${times(slower)} of those before`,
          must: `<= ${times(APPEND_MAX)}`,
          met: slower <= APPEND_MAX,
        },
        {
          work: `the index of ${what}: size`,
          answers: { quipu: megabytes(of('indexBytes')) },
          measured: `${percent(apart)} of the text, ${percent(share)} with Chinese and Japanese`,
          must: `< ${percent(SIZE_MAX)}`,
          met: apart < SIZE_MAX,
        },
        {
          work: 'memory while the index is built and asked',
          answers: { quipu: `+${megabytes(rss)}` },
          measured: 'RSS against the open store',
          must: `< +${megabytes(RSS_BYTES_MAX)}`,
          met: rss < RSS_BYTES_MAX,
        },
      ],
    };
  },
};

function queryFinding(name: string, what: string, of: (name: string) => number): Finding {
  const [p50, p99, bare] = [of(`${name}-p50Ms`), of(`${name}-p99Ms`), of(`bare-${name}-p50Ms`)];
  const ratio = p50 / bare;
  // The floor: a slow query must hold up nobody, so a thread is asked, which sleeps.
  const floor = of(`bare-thread-${name}-p50Ms`);
  return {
    work: `first page of a ${name} query in ${what}`,
    answers: {
      quipu: `${ms(p50)}, p99 ${ms(p99)}`,
      sqlite: ms(bare),
      'json-lines': ms(of('scanMs')),
    },
    measured: `${times(ratio)} of a bare FTS5 table, ${times(p50 / floor)} of one in a thread of its own (${ms(floor)})`,
    must: `p50 < ${P50_MS_MAX} ms, p99 < ${P99_MS_MAX} ms, <= ${times(BARE_MAX)}`,
    met: p50 < P50_MS_MAX && p99 < P99_MS_MAX && ratio <= BARE_MAX,
  };
}

function perSecond(bytes: number, tookMs: number): string {
  return `${(bytes / 1e3 / tookMs).toFixed(1)} MB/s`;
}
