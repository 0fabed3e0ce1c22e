import type { Bench } from '../bench.ts';
import { MIXES } from '../mixes.ts';
import type { MixName } from '../mixes.ts';
import { count, megabytes, ms, times } from './finding.ts';
import type { Finding, Row, RowResult } from './finding.ts';

/** What is new at the second backup, of 100. */
const CHANGE_PERCENT = 1;

export const gcRow: Row = {
  name: 'gc',
  about: 'collecting half of many blobs while someone appends',
  async run(bench: Bench): Promise<RowResult> {
    const { collectedBlobs: size, collectedBlobBytes: payloadBytes, quietAppends } = bench.sizes;
    const found = await bench.inTurn(['fill-half-dead', 'gc'], {
      size,
      payloadBytes,
      from: quietAppends,
    });
    const { gcSeconds = 0, rssBytes = 0, quietP99Ms = 0, meanwhileP99Ms = 0 } = found;
    const slower = meanwhileP99Ms / quietP99Ms;
    return {
      findings: [
        {
          work: `gc of ${count(size)} blobs, half of them dead`,
          answers: { quipu: `${gcSeconds.toFixed(1)} s` },
          measured: `peak RSS ${megabytes(rssBytes)}`,
          must: 'RSS < 300 MB',
          met: rssBytes < 300e6,
        },
        {
          work: '200 appends a second meanwhile, and without, p99',
          answers: { quipu: `${ms(meanwhileP99Ms)}, ${ms(quietP99Ms)}` },
          measured: times(slower),
          must: '<= 3x',
          met: slower <= 3,
        },
      ],
    };
  },
};

export const verifyRow: Row = {
  name: 'verify',
  about: 'checking a store, beside reading and hashing the same bytes',
  async run(bench: Bench): Promise<RowResult> {
    const findings: Finding[] = [];
    for (const mix of Object.keys(MIXES) as MixName[]) findings.push(await measureMix(bench, mix));
    return { findings };
  },
};

async function measureMix(bench: Bench, mix: MixName): Promise<Finding> {
  const { verifiedBytes: size, payloadBytes } = bench.sizes;
  const found = await bench.inTurn(['fill-mix', 'verify'], { size, payloadBytes, mix });
  const { bytes = 0, seconds = 0, share = 0 } = found;
  return {
    work: `verify of ${megabytes(size)}, turns of ${MIXES[mix].about}`,
    answers: { quipu: `${(bytes / 1e6 / seconds).toFixed(0)} MB/s` },
    measured: `${(share * 100).toFixed(0)} % of reading, unpacking and hashing`,
    must: '>= 50 %',
    met: share >= 0.5,
  };
}

export const backupRow: Row = {
  name: 'backup',
  about: 'a second backup, after a small change',
  async run(bench: Bench): Promise<RowResult> {
    const { backedUpTurns: size, payloadBytes } = bench.sizes;
    const from = Math.ceil((size * CHANGE_PERCENT) / 100);
    const found = await bench.inTurn(['backup'], { size, payloadBytes, from });
    const { wholeSeconds = 0, wholeBytes = 0, secondSeconds = 0, laterSeconds = 0 } = found;
    const share = secondSeconds / wholeSeconds;
    const growth = laterSeconds / secondSeconds;
    return {
      findings: [
        {
          work: `backup of ${count(size)} turns, then with ${CHANGE_PERCENT} % new, processor time`,
          answers: { quipu: `${ms(wholeSeconds * 1000)}, ${ms(secondSeconds * 1000)}` },
          measured: `${(share * 100).toFixed(1)} % of the whole (${megabytes(wholeBytes)})`,
          must: '<= 10 %',
          met: share <= 0.1,
        },
        {
          work: 'the same change to a store twice as large',
          answers: { quipu: ms(laterSeconds * 1000) },
          measured: times(growth),
          must: '<= 1.5x',
          met: growth <= 1.5,
        },
      ],
    };
  },
};
