import { z } from 'zod';
import { type QuipuError, exists, invalid } from '../../../base/errors.ts';
import { checkInput } from '../exchange/http-error.ts';

// The bundles that clients publish about their types are merged into one registry. The functions are pure.
//
// Invariants
// - A type with a version means the same for ever: a bundle that says otherwise is refused as a whole.
// - A tag of a type keeps its kind of value over all versions, so that old payloads stay readable.

const TYPES_MAX = 10_000;
const VERSIONS_MAX = 1000;
const FIELDS_MAX = 1000;
const ENUMS_MAX = 10_000;
const LABELS_MAX = 10_000;
const shortText = z.string().min(1).max(512);

const field = z.object({
  name: shortText,
  type: shortText,
  enum: shortText.optional(),
  ref: shortText.optional(),
  optional: z.boolean().optional(),
  semantic: shortText.optional(),
  items: z
    .union([shortText, z.object({ type: shortText.optional(), ref: shortText.optional() })])
    .optional(),
});

const renderer = z.object({
  esm_url: z.string().max(4096),
  component: z.string().max(512).optional(),
  integrity: z.string().max(512).optional(),
});

const typeVersion = z.object({
  fields: z.record(z.string().regex(/^\d{1,15}$/, 'is a number'), field).default({}),
  renderer: renderer.nullish(),
});

/** The frame of a bundle. What is in it is checked piece by piece, so that others are served in between. */
const frame = z.object({
  registry_version: z.int().min(1),
  bundle_id: shortText,
  types: z.record(shortText, z.unknown()).default({}),
  enums: z.record(shortText, z.unknown()).default({}),
});
const typeFrame = z.object({
  versions: z.record(z.string().regex(/^\d{1,9}$/), z.unknown()).default({}),
});
const labelsOfEnum = z.record(z.string().regex(/^\d{1,15}$/), z.string().max(512));

/** Lets others have their turn. Called between pieces of work that are short, whatever a bundle holds. */
type Breathe = () => Promise<void>;

export interface FieldSpec {
  readonly name: string;
  readonly type: string;
  /** The enum whose labels stand for the numbers. */
  readonly enum?: string | undefined;
  /** The type of the value, when it is one with fields of its own. */
  readonly ref?: string | undefined;
  readonly optional?: boolean | undefined;
  readonly semantic?: string | undefined;
  /** Of an array: the kind of its items. */
  readonly items?: string | { type?: string | undefined; ref?: string | undefined } | undefined;
}

export interface Renderer {
  readonly esm_url: string;
  readonly component?: string | undefined;
  readonly integrity?: string | undefined;
}

type Versions = ReadonlyMap<string, VersionGiven>;

interface VersionGiven {
  readonly fields: Readonly<Record<string, FieldSpec>>;
  readonly renderer?: Renderer | null | undefined;
}

export interface TypeBundle {
  readonly bundle_id: string;
  readonly types: ReadonlyMap<string, Versions>;
  readonly enums: ReadonlyMap<string, Readonly<Record<string, string>>>;
}

export interface TypeSpec {
  readonly version: number;
  readonly bundle: string;
  /** By tag, as a decimal number. */
  readonly fields: ReadonlyMap<string, FieldSpec>;
  readonly renderer: Renderer | undefined;
}

/** By type, then by version. */
export type TypeSpecs = ReadonlyMap<string, ReadonlyMap<number, TypeSpec>>;

export interface Registry {
  readonly types: TypeSpecs;
  /** The greatest version of each type. */
  readonly latest: ReadonlyMap<string, TypeSpec>;
  readonly enums: ReadonlyMap<string, Readonly<Record<string, string>>>;
  /** Ids of bundles, in the order in which they came. */
  readonly bundles: readonly string[];
}

export const NO_TYPES: Registry = {
  types: new Map(),
  latest: new Map(),
  enums: new Map(),
  bundles: [],
};

/** Throws INVALID for anything that is no bundle. */
export async function parseBundle(value: unknown, breathe: Breathe): Promise<TypeBundle> {
  const given = value as { types?: unknown; enums?: unknown } | null | undefined;
  checkCount(given?.types, TYPES_MAX, 'types');
  checkCount(given?.enums, ENUMS_MAX, 'enums');
  const { bundle_id: id, types: named, enums: labelled } = checkInput(frame, value, 'bundle');
  const types = new Map<string, Versions>();
  for (const [type, one] of Object.entries(named))
    types.set(type, await parseType(type, one, breathe));
  const enums = new Map<string, Readonly<Record<string, string>>>();
  for (const [name, one] of Object.entries(labelled)) {
    await breathe();
    checkCount(one, LABELS_MAX, name);
    enums.set(name, checkInput(labelsOfEnum, one, 'bundle', ['enums', name]));
  }
  return { bundle_id: id, types, enums };
}

async function parseType(type: string, given: unknown, breathe: Breathe): Promise<Versions> {
  await breathe();
  checkCount((given as { versions?: unknown } | null)?.versions, VERSIONS_MAX, type);
  const { versions } = checkInput(typeFrame, given, 'bundle', ['types', type]);
  const parsed = new Map<string, VersionGiven>();
  for (const [version, one] of Object.entries(versions)) {
    await breathe();
    checkCount((one as { fields?: unknown } | null)?.fields, FIELDS_MAX, `${type} ${version}`);
    const at = ['types', type, 'versions', version];
    parsed.set(version, checkInput(typeVersion, one, 'bundle', at));
  }
  return parsed;
}

/** Before anything is checked: the check itself takes its time. */
function checkCount(given: unknown, most: number, what: string): void {
  if (typeof given !== 'object' || given === null || Object.keys(given).length <= most) return;
  throw invalid(what, `has more than ${most} entries`);
}

/** The registry with one bundle more. Throws EXISTS when the bundle contradicts what is there. */
export async function mergeBundle(
  registry: Registry,
  bundle: TypeBundle,
  breathe: Breathe,
): Promise<Registry> {
  const { bundle_id: id } = bundle;
  const enums = new Map(registry.enums);
  for (const [name, labels] of bundle.enums) {
    await breathe();
    const known = enums.get(name);
    if (known !== undefined && !isSame(known, labels)) throw differs('enum', name);
    enums.set(name, labels);
  }
  const types = new Map(registry.types);
  const latest = new Map(registry.latest);
  for (const [type, versions] of bundle.types) {
    const merged = await mergeType(type, types.get(type) ?? new Map(), { id, versions }, breathe);
    types.set(type, merged);
    for (const spec of merged.values()) {
      if (spec.version >= (latest.get(type)?.version ?? 0)) latest.set(type, spec);
    }
    checkEnums(type, versions, enums);
  }
  if (types.size > TYPES_MAX)
    throw invalid('bundle', `makes more than ${TYPES_MAX} types of the registry`);
  return { types, latest, enums, bundles: [...registry.bundles, id] };
}

async function mergeType(
  type: string,
  known: ReadonlyMap<number, TypeSpec>,
  { id, versions }: { readonly id: string; readonly versions: Versions },
  breathe: Breathe,
): Promise<ReadonlyMap<number, TypeSpec>> {
  const merged = new Map(known);
  const kinds = new Map<string, string>();
  for (const { fields } of known.values()) {
    await breathe();
    for (const [tag, one] of fields) kinds.set(tag, kindOf(one));
  }
  for (const [text, given] of versions) {
    await breathe();
    const version = Number(text);
    const fields = new Map(Object.entries(given.fields));
    const before = merged.get(version);
    if (before !== undefined && !isSame(Object.fromEntries(before.fields), given.fields)) {
      throw differs('type', `${type} version ${version}`);
    }
    for (const [tag, one] of fields) {
      if ((kinds.get(tag) ?? kindOf(one)) !== kindOf(one))
        throw differs('tag', `${tag} of ${type}`);
      kinds.set(tag, kindOf(one));
    }
    const shown = before?.renderer ?? given.renderer ?? undefined;
    merged.set(version, { version, bundle: before?.bundle ?? id, fields, renderer: shown });
  }
  if (merged.size > VERSIONS_MAX) throw invalid(type, `has more than ${VERSIONS_MAX} versions`);
  return merged;
}

function checkEnums(type: string, versions: Versions, enums: Registry['enums']): void {
  for (const { fields } of versions.values()) {
    for (const { name, enum: labels } of Object.values(fields)) {
      if (labels === undefined || enums.has(labels)) continue;
      throw invalid('bundle', `names the enum ${labels} in ${type}.${name}, and has none`);
    }
  }
}

/** The part of a field that may never change for its tag. */
function kindOf({ type, enum: labels = '' }: FieldSpec): string {
  return `${type} ${labels}`;
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.entries(value)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, one]) => [name, sorted(one)]);
}

function differs(what: string, id: string): QuipuError<'EXISTS'> {
  return exists(what, id, `the ${what} ${id} is registered with another meaning`);
}
