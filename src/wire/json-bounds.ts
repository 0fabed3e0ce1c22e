import { QuipuError, invalid } from '../base/errors.ts';
import { CALL_DEPTH_MAX, CALL_JSON_BYTES_MAX, CALL_VALUES_MAX } from './limits.ts';

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * Refuses JSON that would take far more memory parsed than written, before it is parsed: `[` costs one
 * byte on the wire and dozens as an array. Does not ask whether the text is JSON at all.
 */
export function checkJsonBounds(json: string): void {
  checkLimit('bytes', utf8Length(json), CALL_JSON_BYTES_MAX);
  let depth = 0;
  let values = 1;
  for (let at = 0; at < json.length; at += 1) {
    switch (json.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(json, at);
        break;
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        depth += 1;
        values += 1;
        if (depth > CALL_DEPTH_MAX) throw invalid('call', `has more than ${CALL_DEPTH_MAX} levels`);
        break;
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        depth -= 1;
        break;
      case COMMA:
        values += 1;
    }
  }
  checkLimit('values', values, CALL_VALUES_MAX);
}

/** At most three bytes a unit, so only a text near the limit is measured; this also runs in a browser. */
function utf8Length(text: string): number {
  if (text.length * 3 <= CALL_JSON_BYTES_MAX) return text.length;
  return new TextEncoder().encode(text).length;
}

/** Where the string that begins at `start` has its closing quote; the end of the text if it has none. */
function endOfString(json: string, start: number): number {
  for (let at = start + 1; at < json.length; at += 1) {
    const unit = json.charCodeAt(at);
    if (unit === QUOTE) return at;
    if (unit === BACKSLASH) at += 1;
  }
  return json.length;
}

function checkLimit(unit: string, size: number, limit: number): void {
  if (size <= limit) return;
  throw new QuipuError('TOO_LARGE', `a call of ${size} ${unit} is over the limit of ${limit}`, {
    what: `call ${unit}`,
    limit,
    size,
  });
}
