import type { Check } from '../truth/check.ts';
import { invalid } from '../../../base/errors.ts';
import {
  type DeclaredType,
  decodeTypeLine,
  encodeTypeLine,
  type TypeLine,
  typeTag,
} from '../../../format/type-line.ts';
import type { StoreFiles } from '../disk/store-files.ts';

export const TYPES_FILE = 'turns/types.jsonl';

/** Programs declare types and do not invent one per turn. This many types would be a mistake of the caller. */
const TYPES_MAX = 65_536;

const LINE_BREAK = 0x0a;

/** A line of the file. `line` is missing when the text declares nothing. */
export interface FoundTypeLine {
  readonly line?: TypeLine;
  readonly offset: number;
  readonly length: number;
}

/** Finds the lines. Types declared after the file was cut short begin behind zeros, and count. */
export function* typeLinesIn(bytes: Uint8Array): Generator<FoundTypeLine> {
  for (let offset = 0; offset < bytes.length;) {
    const found = bytes.indexOf(LINE_BREAK, offset) + 1;
    const end = found === 0 ? bytes.length : found;
    const zeros = bytes.subarray(offset, end).lastIndexOf(0) + 1;
    if (zeros > 0) yield { offset, length: zeros };
    offset += zeros;
    const line = decodeTypeLine(bytes.subarray(offset, end));
    const length = end - offset;
    if (length > 0) yield { ...(line && { line }), offset, length };
    offset = end;
  }
}

/** Declared types, all in memory: turn records carry only the tag. */
export class TypeTable {
  readonly #byTag: Map<string, DeclaredType> = new Map();
  /** Tags by name and version. They save a hash per append. */
  readonly #tags: Map<string, Map<number, string>> = new Map();
  #tagCount = 0;

  /** Skips damaged lines: turns of their types are CORRUPT until the type is declared again. */
  static async load(files: StoreFiles, bytes: number): Promise<TypeTable> {
    const table = new TypeTable();
    for (const { line } of typeLinesIn(await files.read(TYPES_FILE, 0, bytes))) {
      if (line !== undefined) table.add(line);
    }
    return table;
  }

  add({ tag, type, version }: TypeLine): void {
    this.#byTag.set(tag, { type, version });
    this.#keepTag(type, version, tag);
  }

  get(tag: string): DeclaredType | undefined {
    return this.#byTag.get(tag);
  }

  has(tag: string): boolean {
    return this.#byTag.has(tag);
  }

  tagOf({ type, version }: DeclaredType): string {
    const known = this.#tags.get(type)?.get(version);
    if (known !== undefined) return known;
    const tag = typeTag(type, version);
    this.#keepTag(type, version, tag);
    return tag;
  }

  #keepTag(type: string, version: number, tag: string): void {
    const versions = this.#tags.get(type) ?? new Map<number, string>();
    if (this.#tagCount >= TYPES_MAX || versions.has(version)) return;
    this.#tags.set(type, versions.set(version, tag));
    this.#tagCount += 1;
  }

  /** The line that declares a type. Throws when there are more types than any program declares on purpose. */
  lineFor(declared: DeclaredType): Uint8Array {
    if (this.#byTag.size >= TYPES_MAX) {
      throw invalid(
        'type',
        `must be one of the ${TYPES_MAX} declared so far: use fewer type names`,
      );
    }
    return encodeTypeLine(declared);
  }
}

export async function checkTypes({ files, findings, snapshot }: Check): Promise<void> {
  const bytes = await files.read(TYPES_FILE, 0, snapshot.tails.typesBytes);
  for (const { line, offset, length } of typeLinesIn(bytes)) {
    if (line !== undefined) continue;
    const what = 'this line is not a declared type';
    findings.add({ what, file: TYPES_FILE, offset, severity: 'lost', length });
  }
  await findings.rest(bytes.length, 'types');
}
