import { invalid } from '../../../base/errors.ts';
import {
  type DeclaredType,
  decodeTypeLine,
  encodeTypeLine,
  type TypeLine,
  typeTag,
} from '../../../format/type-line.ts';
import { corrupt } from '../io-error.ts';
import { TYPES_FILE } from '../names.ts';
import type { StoreFiles } from '../store-files.ts';

/** Types are declared by programs, not made up per turn; this many would be a mistake in the caller. */
const TYPES_MAX = 65_536;

const LINE_BREAK = 0x0a;

/** Declared types, all in memory: turn records carry only the tag. */
export class TypeTable {
  readonly #byTag: Map<string, DeclaredType> = new Map();
  /** Tags by `version name`: saves a hash per append. */
  readonly #tags: Map<string, string> = new Map();

  static async load(files: StoreFiles, bytes: number): Promise<TypeTable> {
    const table = new TypeTable();
    const content = await files.read(TYPES_FILE, 0, bytes);
    if (content.length < bytes) {
      throw corrupt(TYPES_FILE, content.length, `the file should have ${bytes} bytes`);
    }
    for (let at = 0; at < bytes;) {
      const end = content.indexOf(LINE_BREAK, at) + 1;
      const line = end === 0 ? undefined : decodeTypeLine(content.subarray(at, end));
      if (line === undefined) throw corrupt(TYPES_FILE, at, 'this line is not a declared type');
      table.add(line);
      at = end;
    }
    return table;
  }

  add({ tag, type, version }: TypeLine): void {
    this.#byTag.set(tag, { type, version });
    if (this.#tags.size < TYPES_MAX) this.#tags.set(keyOf(type, version), tag);
  }

  get(tag: string): DeclaredType | undefined {
    return this.#byTag.get(tag);
  }

  has(tag: string): boolean {
    return this.#byTag.has(tag);
  }

  tagOf({ type, version }: DeclaredType): string {
    const key = keyOf(type, version);
    const known = this.#tags.get(key);
    if (known !== undefined) return known;
    const tag = typeTag(type, version);
    if (this.#tags.size < TYPES_MAX) this.#tags.set(key, tag);
    return tag;
  }

  /** The line that declares a type; throws when there are more than anyone declares on purpose. */
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

function keyOf(type: string, version: number): string {
  return `${version} ${type}`;
}
