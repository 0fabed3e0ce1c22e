import { parseBoundedJson } from '../../base/bounded-json.ts';
type Fields = Record<string, unknown>;

/** The records on one line of a session file. */
export interface ParsedLine {
  readonly records: readonly Fields[];
  /** Part of the line, or all of it, could not be read. */
  readonly malformed: boolean;
}

const NOTHING: ParsedLine = { records: [], malformed: false };
/**
 * The number of places tried at which a whole record may begin inside a damaged line. Each try reads the rest of the
 * line.
 */
const TRIES = 32;

/** Takes every record that can be read: whole records glued together, or one after a torn one. */
export function parseLine(bytes: Uint8Array): ParsedLine {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  const line = text.replace(/^\uFEFF/, '').replace(/\r$/, '');
  if (line.trim() === '') return NOTHING;
  const whole = parseObject(line);
  if (whole !== undefined) return { records: [whole], malformed: false };
  const { records, rest } = takeWholeObjects(line);
  if (rest === '') return { records, malformed: false };
  const last = takeSuffix(rest);
  return { records: last === undefined ? records : [...records, last], malformed: true };
}

function parseObject(text: string): Fields | undefined {
  try {
    const value: unknown = parseBoundedJson(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      return value as Fields;
    }
  } catch {
    // The line is damaged. The caller looks for whole records in it.
  }
  return undefined;
}

/** Splits `{…}{…}`, minding braces in texts, until something is not a whole object. */
function takeWholeObjects(line: string): { records: Fields[]; rest: string } {
  const records: Fields[] = [];
  let start = 0;
  while (start < line.length) {
    const end = endOfObject(line, start);
    const record = end === -1 ? undefined : parseObject(line.slice(start, end));
    if (record === undefined) break;
    records.push(record);
    start = end;
  }
  return { records, rest: line.slice(start).trim() };
}

function endOfObject(text: string, start: number): number {
  if (text[start] !== '{') return -1;
  let depth = 0;
  let inText = false;
  for (let at = start; at < text.length; at++) {
    const char = text[at];
    if (inText) {
      if (char === '\\') at++;
      else if (char === '"') inText = false;
    } else if (char === '"') inText = true;
    else if (char === '{') depth++;
    else if (char === '}') {
      depth--;
      if (depth === 0) return at + 1;
    }
  }
  return -1;
}

/** Takes a record that was written after half of another: from one `{"` to the end of the line. */
function takeSuffix(text: string): Fields | undefined {
  let at = text.indexOf('{"', 1);
  for (let tries = 0; at !== -1 && tries < TRIES; tries++) {
    const record = parseObject(text.slice(at));
    if (record !== undefined && typeof record['type'] === 'string') return record;
    at = text.indexOf('{"', at + 1);
  }
  return undefined;
}
