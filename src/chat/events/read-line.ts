import { isFields } from '../../base/fields.ts';
import { shown } from '../../base/text.ts';
import { invalid } from '../../base/errors.ts';
import { SCHEMA_VERSION, type ChatEvent, type ChatProblem, type JsonObject } from './event.ts';
import { payloadProblem, isKnownType } from './payloads.ts';

/** The result of reading a line: an event, a problem, or both when the event is kept and has no meaning here. */
export interface ReadLine {
  readonly seq: number;
  /** The length of the line, when there is one. */
  readonly chars?: number;
  /** The event as it was written. */
  readonly written?: ChatEvent;
  /** For projections: of the newest version, with a payload that fits its type. */
  readonly event?: ChatEvent;
  readonly problem?: ChatProblem;
}

/** Reads line number `seq`, from 1. Never throws: a problem is reported, and the next line is read. */
export function readLine(line: string, seq: number, upcasters: Upcasters): ReadLine {
  const bad = (kind: ChatProblem['kind'], message: string): { problem: ChatProblem } => ({
    problem: { seq, kind, message },
  });
  const parsed = parse(line);
  const written = toEvent(parsed, seq);
  if (typeof written === 'string') return { seq, ...bad('not-an-event', written) };
  const { type, schema_version: version } = written;
  const newest = upcasters.newestOf(type);
  if (!upcasters.isKnown(type)) {
    const message = `there is no type ${type}; "quipu chat register" makes it known`;
    const problem: ChatProblem = { seq, kind: 'unknown-type', message, type };
    // The program that wrote the event has projections of its own for it.
    return { seq, written, event: written, problem };
  }
  if (version > newest) {
    const message = `version ${version} of ${type} is newer than ${newest}`;
    return { seq, written, ...bad('newer-version', message) };
  }
  const lifted = upcasters.lift(written);
  if (typeof lifted === 'string') return { seq, written, ...bad('payload', lifted) };
  const wrong = payloadProblem(type, lifted.payload);
  if (wrong !== undefined) return { seq, written, ...bad('payload', `${type}: ${wrong}`) };
  const says = isFields(parsed) ? parsed['seq'] : seq;
  // The place counts: it has no gaps, whatever number the line has.
  const problem = says === seq ? {} : bad('sequence', `says that it is number ${shown(says)}`);
  return { seq, written, event: lifted, ...problem };
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line) as unknown;
  } catch {
    // SyntaxError: the line is not an event, as any other text.
    return undefined;
  }
}

function toEvent(value: unknown, seq: number): ChatEvent | string {
  if (!isFields(value)) return 'the line is not an object';
  const { schema_version: version, event_id: id, at, type, payload } = value as Partial<ChatEvent>;
  if (typeof type !== 'string') return 'it has no type';
  if (!isFields(payload)) return 'its payload is not an object';
  if (!Number.isSafeInteger(version) || version === undefined || version < SCHEMA_VERSION) {
    return 'it has no schema_version';
  }
  if (typeof id !== 'string' || typeof at !== 'string') return 'it has no event_id or time';
  return { schema_version: version, seq, event_id: id, at, type, payload };
}

export function formatLine(event: ChatEvent): string {
  const { schema_version, seq, event_id, at, type, payload } = event;
  return JSON.stringify({ schema_version, seq, event_id, at, type, payload });
}

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
        throw invalid('upcasters', 'must each have a type and a whole number "from" of 1 or more');
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
      if (!isFields(payload)) return `the upcaster from version ${version} gave no object`;
      version += 1;
    }
  }
}
