import type { Bench } from '../bench.ts';
import { megabytes, times } from './finding.ts';
import type { Row, RowResult } from './finding.ts';

export const sinkRow: Row = {
  name: 'sink',
  about: 'the output of a program through a sink, beside writing it to a file',
  async run(bench: Bench): Promise<RowResult> {
    const { sinkBytes: size, payloadBytes } = bench.sizes;
    const found = await bench.inTurn(['sink'], { size, payloadBytes });
    const { ratio = 0, megabytesPerSecond = 0, rssBytes = 0 } = found;
    return {
      findings: [
        {
          work: `${megabytes(size)} of output through a sink, and plainly to a file`,
          answers: { quipu: `${megabytesPerSecond.toFixed(0)} MB/s` },
          measured: `${times(ratio)} the time; RSS +${megabytes(rssBytes)}`,
          must: '<= 2x, >= 100 MB/s, RSS < +64 MB',
          met: ratio <= 2 && megabytesPerSecond >= 100 && rssBytes < 64 * 1024 ** 2,
        },
      ],
    };
  },
};
