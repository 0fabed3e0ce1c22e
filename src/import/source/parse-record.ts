import { findExcess } from '../../base/bounded-json.ts';

/** Less than a payload may have, for what is put around a record. */
const BOUNDS = { depth: 900, values: 900_000 };

/** The value of a JSON text, if a turn can hold it. Throws a SyntaxError otherwise. */
export function parseRecord(text: string): unknown {
  const excess = findExcess(text, BOUNDS);
  if (excess !== undefined) throw new SyntaxError(`it has too many ${excess.of}`);
  return JSON.parse(text) as unknown;
}
