import { canonicalJson } from '../base/canonical-json.ts';
import { isFields } from '../base/fields.ts';
import { decodeUtf8, encodeUtf8 } from '../base/text.ts';
import { crc32 } from './bytes.ts';

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

// A line that carries its own checksum: `check` is the crc32, as 8 hex digits, of the same object without `check`.

export function encodeChecked(fields: object): Uint8Array {
  return encodeUtf8(`${canonicalJson({ ...fields, check: checkOf(fields) })}\n`);
}

/** The fields without the checksum. Undefined when it is not right. */
export function decodeChecked(bytes: Uint8Array): Record<string, unknown> | undefined {
  const { check, ...fields } = parseCanonicalLine(bytes) ?? {};
  return check === checkOf(fields) ? fields : undefined;
}

function checkOf(fields: object): string {
  return crc32(encodeUtf8(canonicalJson(fields)))
    .toString(16)
    .padStart(8, '0');
}
