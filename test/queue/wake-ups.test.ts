import { describe, it } from 'vitest';
import { runWakeUps } from './wake-ups.ts';

describe('no wake-up is lost', { timeout: 60_000 }, () => {
  it('with many pushers at once', () =>
    runWakeUps({ pushers: 6, consumers: 3, events: 300, deadly: 0 }));

  it('with handlers that are killed at random', () =>
    runWakeUps({ pushers: 3, consumers: 2, events: 90, deadly: 0.2 }));
});
