import type { Bench } from '../bench.ts';
import { count, ms, percent, times } from './finding.ts';
import type { Row, RowResult } from './finding.ts';

export const queuePushRow: Row = {
  name: 'queue-push',
  about: 'pushing an event to a queue, beside inserting the same row with the same sync',
  async run(bench: Bench): Promise<RowResult> {
    const { queuePushes: size, payloadBytes } = bench.sizes;
    const found = await bench.inTurn(['queue-push'], { size, payloadBytes });
    const { pushP50Ms = 0, rawP50Ms = 0 } = found;
    const slower = pushP50Ms / rawP50Ms;
    return {
      findings: [
        {
          work: 'push of one event, p50',
          answers: { quipu: ms(pushP50Ms), sqlite: ms(rawP50Ms) },
          measured: times(slower),
          must: '<= 1.5x',
          met: slower <= 1.5,
        },
      ],
    };
  },
};

export const queueBatchRow: Row = {
  name: 'queue-batch',
  about: 'pushing a batch to a queue, beside inserting the same rows',
  async run(bench: Bench): Promise<RowResult> {
    const { queueBatch: size, payloadBytes } = bench.sizes;
    const found = await bench.inTurn(['queue-batch'], { size, payloadBytes });
    const { pushSeconds = 0, rawSeconds = 0, share = 0 } = found;
    return {
      findings: [
        {
          work: `push of a batch of ${count(size)} events, processor time`,
          answers: { quipu: ms(pushSeconds * 1000), sqlite: ms(rawSeconds * 1000) },
          measured: percent(share),
          must: '>= 70 %',
          met: share >= 0.7,
        },
      ],
    };
  },
};

export const queueCommandRow: Row = {
  name: 'queue-command',
  about: 'pushing a batch with the command thread, beside a script that inserts the same lines',
  async run(bench: Bench): Promise<RowResult> {
    const { queueBatch: size, payloadBytes } = bench.sizes;
    const found = await bench.inTurn(['queue-command'], { size, payloadBytes });
    const { pushSeconds = 0, rawSeconds = 0, share = 0 } = found;
    return {
      findings: [
        {
          work: `thread push --batch of ${count(size)} events, from start to end`,
          answers: { quipu: ms(pushSeconds * 1000), sqlite: ms(rawSeconds * 1000) },
          measured: percent(share),
          must: '>= 70 %',
          met: share >= 0.7,
        },
      ],
    };
  },
};

export const queueReadRow: Row = {
  name: 'queue-read',
  about: 'popping from a long queue, and dispatching for many consumers',
  async run(bench: Bench): Promise<RowResult> {
    const { queueEvents: size, payloadBytes } = bench.sizes;
    const found = await bench.inTurn(['queue-read'], { size, payloadBytes });
    const { popP50Ms = 0, dispatchMs = 0, firstDispatchMs = 0, lookMs = 0 } = found;
    return {
      findings: [
        {
          work: `pop of 100 from ${count(size)} events, p50`,
          answers: { quipu: ms(popP50Ms) },
          measured: ms(popP50Ms),
          must: '< 2 ms',
          met: popP50Ms < 2,
        },
        {
          work: `dispatch with 100 consumers and ${count(size)} events`,
          answers: { quipu: ms(dispatchMs) },
          measured: ms(dispatchMs),
          must: '< 300 ms',
          met: dispatchMs < 300,
        },
        {
          work: `the first one of them, when nobody has looked at any event`,
          answers: { quipu: ms(firstDispatchMs) },
          measured: `all were looked at in the background within ${ms(lookMs)}`,
          must: '< 300 ms',
          met: firstDispatchMs < 300,
        },
      ],
    };
  },
};
