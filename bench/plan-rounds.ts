import type { DriverName } from './drivers/driver.ts';

/**
 * Who runs when. Every driver runs once in every round, so that noise hits all alike, and a round
 * begins with another driver than the one before, so that nobody always comes first.
 */
export function planRounds(drivers: readonly DriverName[], rounds: number): DriverName[][] {
  return Array.from({ length: rounds }, (_, round) => {
    const first = round % drivers.length;
    return [...drivers.slice(first), ...drivers.slice(0, first)];
  });
}
