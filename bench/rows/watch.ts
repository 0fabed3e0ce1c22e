import type { Bench } from '../bench.ts';
import { count, ms, percent } from './finding.ts';
import type { Finding, Row, RowResult } from './finding.ts';

const SHARE_MIN = 0.99;

export const watchRow: Row = {
  name: 'watch',
  about:
    'events delivered for each event written, with eight writers, on a folder and on PostgreSQL',
  async run(bench: Bench): Promise<RowResult> {
    const { watchedAppends, databaseAppends, smallPayloadBytes: payloadBytes } = bench.sizes;
    const overTcp = await bench.inTurn(['watch'], { size: watchedAppends, payloadBytes });
    const onDatabase = await bench.inTurn(['watch-database'], {
      size: databaseAppends,
      payloadBytes,
    });
    return {
      findings: [
        toFinding('a watch over TCP beside eight writers', overTcp),
        toFinding('a watch on PostgreSQL beside eight writers', onDatabase),
      ],
    };
  },
};

function toFinding(work: string, found: Readonly<Record<string, number>>): Finding {
  const { share = 0, behind = 0, drainMs = 0, perSecond = 0 } = found;
  return {
    work: `${work}: events delivered per event written`,
    answers: { quipu: `${count(perSecond)} written/s` },
    measured: `${percent(share)}, at most ${count(behind)} behind, all ${ms(drainMs)} after the last`,
    must: `>= ${percent(SHARE_MIN)}`,
    met: share >= SHARE_MIN,
  };
}
