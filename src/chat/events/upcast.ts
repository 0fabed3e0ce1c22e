import { invalid } from '../../base/errors.ts';
import type { ChatEvent, JsonObject } from './event.ts';
import { SCHEMA_VERSION, isObject } from './event.ts';
import { isKnownType } from './payloads.ts';

/**
 * Turns the payload of an older version into that of the next one, when it is read. Files are never migrated: the
 * written lines stay as they are.
 */
export interface Upcaster {
  readonly type: string;
  /** The upcaster turns a payload of version `from` into one of version `from + 1`. */
  readonly from: number;
  upcast(payload: JsonObject): JsonObject;
}

/** The known types and their newest versions, and the steps to get there. */
export class Upcasters {
  readonly #steps: ReadonlyMap<string, Upcaster>;
  readonly #newest: Map<string, number> = new Map();
  /** Tells one set of upcasters from another. */
  readonly fingerprint: string;

  constructor(upcasters: readonly Upcaster[] = []) {
    for (const { type, from } of upcasters) {
      if (typeof type !== 'string' || !Number.isSafeInteger(from) || from < 1) {
        throw invalid('upcasters', 'each have a type and a whole number "from" of 1 or more');
      }
      this.#newest.set(type, Math.max(this.#newest.get(type) ?? SCHEMA_VERSION, from + 1));
    }
    const keys = upcasters.map(({ type, from }) => `${type}@${from}`);
    if (new Set(keys).size < keys.length) throw invalid('upcasters', 'has two for one version');
    this.#steps = new Map(upcasters.map((upcaster, at) => [keys[at] ?? '', upcaster]));
    this.fingerprint = keys.toSorted().join(' ');
  }

  isKnown(type: string): boolean {
    return isKnownType(type) || this.#newest.has(type);
  }

  newestOf(type: string): number {
    return this.#newest.get(type) ?? SCHEMA_VERSION;
  }

  /** Returns the event as the newest version has it, or the error. */
  lift(event: ChatEvent): ChatEvent | string {
    let { schema_version: version, payload } = event;
    for (;;) {
      const step = this.#steps.get(`${event.type}@${version}`);
      if (step === undefined) return { ...event, schema_version: version, payload };
      try {
        payload = step.upcast(payload);
      } catch (error) {
        // The message of the error may quote the payload, and problems are kept.
        const name = error instanceof Error ? error.name : typeof error;
        return `the upcaster from version ${version} failed with ${name}`;
      }
      if (!isObject(payload)) return `the upcaster from version ${version} gave no object`;
      version += 1;
    }
  }
}
