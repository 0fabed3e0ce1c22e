import { canonicalJson } from '../base/canonical-json.ts';
import { hashRaw, hexOf } from '../base/hash.ts';
import { encodeUtf8 } from '../base/text.ts';
import { parseCanonicalLine } from './canonical-line.ts';

// types.jsonl: one declared type per line, in canonical JSON.           docs/format/turns.md
// {"tag":"<16 hex>","type":"<name>","version":n}
// The tag is made from name and version, so it is also the checksum of the line.
const TAG_BYTES = 8;

export interface DeclaredType {
  readonly type: string;
  readonly version: number;
}

export interface TypeLine extends DeclaredType {
  readonly tag: string;
}

/** The tag that turn records carry for a type: 16 lower-case hex digits. */
export function typeTag(name: string, version: number): string {
  const hash = hashRaw(encodeUtf8(`quipu.type\0${version}\0${name}`));
  return hexOf(hash.subarray(0, TAG_BYTES));
}

/** The line with its line break. */
export function encodeTypeLine({ type, version }: DeclaredType): Uint8Array {
  return encodeUtf8(`${canonicalJson({ tag: typeTag(type, version), type, version })}\n`);
}

/** `line` has its line break. Undefined when it is cut short or damaged. */
export function decodeTypeLine(line: Uint8Array): TypeLine | undefined {
  const fields = parseCanonicalLine(line);
  if (fields === undefined || Object.keys(fields).length !== 3) return undefined;
  const { tag, type, version } = fields;
  if (typeof tag !== 'string' || typeof type !== 'string') return undefined;
  if (typeof version !== 'number' || !Number.isSafeInteger(version)) return undefined;
  return tag === typeTag(type, version) ? { tag, type, version } : undefined;
}
