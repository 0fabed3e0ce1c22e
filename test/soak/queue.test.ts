import { describe, it } from 'vitest';
import { runWakeUps } from '../queue/wake-ups.ts';

describe('no wake-up is lost', () => {
  it('with 20 pushers, 4 consumers and 2,000 events', () =>
    runWakeUps({ pushers: 20, consumers: 4, events: 2000, deadly: 0 }));

  it('with handlers that are killed at random', () =>
    runWakeUps({ pushers: 20, consumers: 4, events: 2000, deadly: 0.1 }));
});
