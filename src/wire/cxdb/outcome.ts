import type { ByteReader } from '../byte-reader.ts';

/** The way in which an open turn came to its end. */
export type Outcome = 'complete' | 'aborted' | 'interrupted';

const OUTCOMES: readonly Outcome[] = ['complete', 'aborted', 'interrupted'];

export function outcomeNumber(outcome: Outcome): number {
  return OUTCOMES.indexOf(outcome);
}

export function readOutcome(reader: ByteReader): Outcome {
  const number = reader.u32('outcome');
  const outcome = OUTCOMES[number];
  if (outcome === undefined) throw reader.wrong('outcome', `is 0, 1 or 2, got ${number}`);
  return outcome;
}
