import { findExcess } from '../base/bounded-json.ts';
import { QuipuError, invalid } from '../base/errors.ts';
import { CALL_DEPTH_MAX, CALL_JSON_BYTES_MAX, CALL_VALUES_MAX } from './limits.ts';

const CALL_BOUNDS = { depth: CALL_DEPTH_MAX, values: CALL_VALUES_MAX };

/** Refuses the JSON of a call that is over the limits, before it is parsed. */
export function checkJsonBounds(json: string): void {
  const bytes = utf8Length(json);
  if (bytes > CALL_JSON_BYTES_MAX) throw tooLarge('bytes', bytes, CALL_JSON_BYTES_MAX);
  const excess = findExcess(json, CALL_BOUNDS);
  if (excess?.of === 'depth') throw invalid('call', `has more than ${CALL_DEPTH_MAX} levels`);
  if (excess?.of === 'values') throw tooLarge('values', excess.size, CALL_VALUES_MAX);
}

/** A unit takes at most three bytes, so only a text near the limit is measured. This also runs in a browser. */
function utf8Length(text: string): number {
  if (text.length * 3 <= CALL_JSON_BYTES_MAX) return text.length;
  return new TextEncoder().encode(text).length;
}

function tooLarge(unit: string, size: number, limit: number): QuipuError<'TOO_LARGE'> {
  const message = `a call of ${size} ${unit} is over the limit of ${limit}; make smaller calls`;
  return new QuipuError('TOO_LARGE', message, { what: `call ${unit}`, limit, size });
}
