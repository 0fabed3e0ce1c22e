import type { Bench } from '../bench.ts';
import { count, megabytes, ms } from './finding.ts';
import type { Row, RowResult } from './finding.ts';

const PAINT_MS_MAX = 1000;
const FRAME_MS_MAX = 50;
const HEAP_BYTES_MAX = 50 * 1024 ** 2;

export const pageRow: Row = {
  name: 'page',
  about: 'the page in a browser: a long thread, the graph of its branches, live turns',
  async run(bench: Bench): Promise<RowResult> {
    const { pageTurns: size, payloadBytes } = bench.sizes;
    const found = await bench.inTurn(['page'], { size, payloadBytes });
    const { readableMs = 0, paintMs = 0, frameMs = 0, heapBytes = 0, heapAfter = 0 } = found;
    return {
      findings: [
        {
          work: `a thread of ${count(size)} turns in the page, until it can be read`,
          answers: { quipu: ms(readableMs) },
          measured: `first paint after ${ms(paintMs)}`,
          must: `first paint < ${ms(PAINT_MS_MAX)}`,
          met: paintMs < PAINT_MS_MAX,
        },
        {
          work: `the graph of ${count(size / 20)} forks, dragged: frames`,
          answers: { quipu: ms(frameMs) },
          measured: 'p95 between two frames',
          must: `<= ${ms(FRAME_MS_MAX)}`,
          met: frameMs <= FRAME_MS_MAX,
        },
        {
          work: 'the tab after 1,000 live turns: heap',
          answers: { quipu: `+${megabytes(heapBytes)}` },
          measured: `against the freshly opened thread; ${megabytes(heapAfter)} in all`,
          must: `< +${megabytes(HEAP_BYTES_MAX)}`,
          met: heapBytes < HEAP_BYTES_MAX,
        },
      ],
    };
  },
};
