import { isFields } from '../base/fields.ts';
import { canonicalJson } from '../base/canonical-json.ts';
import { decodeUtf8 } from '../base/text.ts';

/**
 * The fields of a JSON object that stands alone on a line, in canonical form and with its line break.
 * Undefined for anything else, so that no other bytes mean the same and a cut line is never taken.
 */
export function parseCanonicalLine(bytes: Uint8Array): Record<string, unknown> | undefined {
  try {
    const line = decodeUtf8(bytes);
    const value: unknown = JSON.parse(line);
    if (!isFields(value)) return undefined;
    return `${canonicalJson(value)}\n` === line ? { ...value } : undefined;
  } catch {
    // SyntaxError or INVALID: damaged bytes are an answer here, not a failure.
    return undefined;
  }
}
