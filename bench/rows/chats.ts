import type { Bench } from '../bench.ts';
import { count, ms, times } from './finding.ts';
import type { Row, RowResult } from './finding.ts';

const SHORT_EVENTS = 2000;

export const chatsRow: Row = {
  name: 'chats',
  about: 'opening a long chat, appending and streaming to it',
  async run(bench: Bench): Promise<RowResult> {
    const { chatEvents: events, smallPayloadBytes: payloadBytes } = bench.sizes;
    const steps = ['grow-chat', 'use-chat'] as const;
    const short = await bench.inTurn(steps, { size: Math.min(SHORT_EVENTS, events), payloadBytes });
    const long = await bench.inTurn(steps, { size: events, payloadBytes });
    const { openMs = Number.NaN, pageMs = Number.NaN, commitsPer20Ms = Number.NaN } = long;
    const growth = (long['appendMs'] ?? Number.NaN) / (short['appendMs'] ?? Number.NaN);
    return {
      findings: [
        {
          work: `open a chat of ${count(events)} events; with the last 50 messages`,
          answers: { quipu: `${ms(openMs)}; ${ms(pageMs)}` },
          measured: ms(openMs),
          must: '< 100 ms',
          met: openMs < 100,
        },
        {
          work: `durable append to a chat of ${count(events)} events, p50`,
          answers: { quipu: ms(long['appendMs'] ?? Number.NaN) },
          measured: `${times(growth)} of one to a short chat`,
          must: 'constant (<= 1.5x)',
          met: growth <= 1.5,
        },
        {
          work: 'stream 10,000 deltas',
          answers: { quipu: `${commitsPer20Ms.toFixed(2)} commits per 20 ms` },
          measured: commitsPer20Ms.toFixed(2),
          must: '<= 1 commit per 20 ms',
          // The first goes at once, and the completed message has one of its own.
          met: commitsPer20Ms <= 1.1,
        },
      ],
    };
  },
};
