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
  /** Tags by name and version: saves a hash per append. */
  readonly #tags: Map<string, Map<number, string>> = new Map();
  #tagCount = 0;

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
