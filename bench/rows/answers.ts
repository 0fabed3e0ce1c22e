import { figure } from '../bench.ts';
import type { Rounds } from '../bench.ts';
import type { DriverName } from '../drivers/driver.ts';
import { count, ms } from './finding.ts';
import type { Finding } from './finding.ts';

/** A finding whose answers are the times called `name`. */
export function latency(rounds: Rounds, name: string, rest: Omit<Finding, 'answers'>): Finding {
  return { ...rest, answers: answersOf(rounds, (driver) => ms(figure(rounds, driver, name))) };
}

/** What each driver does in a second. */
export function rates(rounds: Rounds): Finding['answers'] {
  return answersOf(rounds, (driver) => `${count(figure(rounds, driver, 'perSecond'))}/s`);
}

function answersOf(rounds: Rounds, show: (driver: DriverName) => string): Finding['answers'] {
  return Object.fromEntries([...rounds.keys()].map((driver) => [driver, show(driver)]));
}
