import { isFields } from './fields.ts';
import { parseBoundedJson } from './bounded-json.ts';

// JSON Lines as other programs leave them: torn by crashes, glued together, with a byte order mark or CRs.

const LF = 0x0a;

export interface Line {
  /** The position in the file where the line begins. */
  readonly start: number;
  /** The position behind the line's last byte, the line break included. */
  readonly end: number;
  /** False for a last line without a line break. */
  readonly terminated: boolean;
  /** The line without the line break; undefined for a line that is too long. */
  readonly bytes: Uint8Array | undefined;
}

/** Cuts pieces of a file into lines, at the byte 0x0A and nowhere else. Memory is bounded by the longest line. */
export class LineSplitter {
  readonly #maxBytes: number;
  #parts: Uint8Array[] = [];
  #held = 0;
  #start: number;

  constructor(from: number, maxBytes: number) {
    this.#start = from;
    this.#maxBytes = maxBytes;
  }

  /** Takes the next bytes, and keeps views of them until their line has ended. */
  *take(bytes: Uint8Array): Generator<Line, void, undefined> {
    let begin = 0;
    for (let lf = bytes.indexOf(LF); lf !== -1; lf = bytes.indexOf(LF, begin)) {
      this.#hold(bytes.subarray(begin, lf));
      begin = lf + 1;
      yield this.#cut(true);
    }
    this.#hold(bytes.subarray(begin));
  }

  /** The last line, if the file does not end with a line break. */
  end(): Line | undefined {
    return this.#held > 0 ? this.#cut(false) : undefined;
  }

  #hold(piece: Uint8Array): void {
    this.#held += piece.length;
    if (this.#held > this.#maxBytes) this.#parts = [];
    else if (piece.length > 0) this.#parts.push(piece);
  }

  #cut(terminated: boolean): Line {
    const start = this.#start;
    const end = start + this.#held + (terminated ? 1 : 0);
    const bytes = this.#held > this.#maxBytes ? undefined : join(this.#parts);
    this.#parts = [];
    this.#held = 0;
    this.#start = end;
    return { start, end, terminated, bytes };
  }
}

function join(parts: readonly Uint8Array[]): Uint8Array {
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts);
}

export type JsonFields = Record<string, unknown>;

/** One record of a line, with its text. */
export interface FoundRecord {
  readonly value: JsonFields;
  readonly raw: string;
}

export interface ParsedText {
  readonly records: readonly FoundRecord[];
  /** The part of the line that could not be read; empty if all of it was. */
  readonly lost: string;
}

const NOTHING: ParsedText = { records: [], lost: '' };
/**
 * The number of places tried at which a whole record may begin inside a damaged line. Each try reads the rest of the
 * line.
 */
const TRIES = 32;
/** More whole records on one line are not taken apart: a line of `{}{}{}…` would cost 60 times its bytes. */
const RECORDS_MAX = 1000;

/** Takes every record of a line that can be read: whole records glued together, or one after a torn one. */
export function parseJsonLine(
  text: string,
  isRecord: (value: JsonFields) => boolean,
  parse: (text: string) => unknown = parseBoundedJson,
): ParsedText {
  const line = text.charCodeAt(text.length - 1) === 0x0d ? text.slice(0, -1) : text;
  const whole = parseObject(line, parse);
  if (whole !== undefined) return { records: [{ value: whole, raw: line }], lost: '' };
  if (line.trim() === '') return NOTHING;
  const { records, rest } = takeWholeObjects(line, parse);
  if (rest === '') return { records, lost: '' };
  const last = takeSuffix(rest, isRecord, parse);
  if (last === undefined) return { records, lost: rest };
  return { records: [...records, last], lost: rest.slice(0, rest.length - last.raw.length) };
}

function parseObject(text: string, parse: (text: string) => unknown): JsonFields | undefined {
  try {
    const value: unknown = parse(text);
    if (isFields(value)) {
      return value as JsonFields;
    }
  } catch {
    // The line is damaged. The caller looks for whole records in it.
  }
  return undefined;
}

/** Splits `{…}{…}`, minding braces in texts, until something is not a whole object. */
function takeWholeObjects(
  line: string,
  parse: (text: string) => unknown,
): { records: FoundRecord[]; rest: string } {
  const records: FoundRecord[] = [];
  let start = 0;
  while (start < line.length && records.length < RECORDS_MAX) {
    const end = endOfObject(line, start);
    const raw = line.slice(start, end);
    const value = end === -1 ? undefined : parseObject(raw, parse);
    if (value === undefined) break;
    records.push({ value, raw });
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
function takeSuffix(
  text: string,
  isRecord: (value: JsonFields) => boolean,
  parse: (text: string) => unknown,
): FoundRecord | undefined {
  let at = text.indexOf('{"', 1);
  for (let tries = 0; at !== -1 && tries < TRIES; tries++) {
    const raw = text.slice(at);
    const value = parseObject(raw, parse);
    if (value !== undefined && isRecord(value)) return { value, raw };
    at = text.indexOf('{"', at + 1);
  }
  return undefined;
}
