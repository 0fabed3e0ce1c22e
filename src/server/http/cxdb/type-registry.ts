import type { Hash } from '../../../base/brand.ts';
import { corrupt, exists, invalid, type QuipuError } from '../../../base/errors.ts';
import { untilFirst } from '../../../base/retry.ts';
import { hashText } from '../../../base/hash.ts';
import type { Engine } from '../../../engine/engine.ts';
import { Turns } from '../exchange/answer-room.ts';
import { z } from 'zod';
import { checkInput } from '../exchange/route.ts';

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

// The registry of a store: documents, so that it is copied, backed up and shared as everything else.
//
// cxdb/registry.json        the ids of the bundles, in the order in which they came
// cxdb/bundles/<hash>.json  the text of a bundle, under the hash of its id: ids are any text
//
// Both change in one commit that names the version of the list, so two writers cannot lose a bundle.

const LIST = 'cxdb/registry.json';
const BUNDLES_MAX = 1000;
/** The whole registry is in memory, and in a good part of the answers. */
const REGISTRY_BYTES_MAX = 8 * 1024 * 1024;

interface Known {
  readonly version: number;
  readonly registry: Registry;
  /** Of the texts of all bundles. */
  readonly bytes: number;
}

const NOTHING: Known = { version: 0, registry: NO_TYPES, bytes: 0 };

/** The newest read of the registry, with the version of the list. Callers who ask meanwhile wait for it. */
const reads = new WeakMap<Engine, { readonly version: number; readonly done: Promise<Known> }>();
/** A large bundle takes a while to check and to merge. */
const turns = new Turns();
const breathe = (): Promise<void> => turns.next();

export async function readRegistry(engine: Engine): Promise<Registry> {
  return (await readKnown(engine)).registry;
}

export async function readBundle(engine: Engine, id: string): Promise<string | undefined> {
  return (await engine.getDoc(nameOf(id)))?.content;
}

/** False when the same bundle is there already. EXISTS when its id stands for another one. */
export async function putBundle(engine: Engine, text: string, value: unknown): Promise<boolean> {
  const bundle = await parseBundle(value, breathe);
  const { bundle_id: id } = bundle;
  return untilFirst(async () => {
    const { version, registry, bytes } = await readKnown(engine);
    if (registry.bundles.includes(id)) {
      if ((await readBundle(engine, id)) === text) return false;
      throw exists(
        'bundle',
        id,
        `bundle ${id} exists with other content; publish this one under a new id`,
      );
    }
    if (registry.bundles.length >= BUNDLES_MAX)
      throw invalid('bundle', `is one too many: at most ${BUNDLES_MAX} bundles can be registered`);
    if (bytes + Buffer.byteLength(text) > REGISTRY_BYTES_MAX)
      throw invalid('bundle', `makes the registry larger than ${REGISTRY_BYTES_MAX} bytes`);
    const { bundles } = await mergeBundle(registry, bundle, breathe);
    const list = { name: LIST, content: JSON.stringify({ bundles }), expectedVersion: version };
    await engine.commit({ docs: [list, { name: nameOf(id), content: text }] });
    return true;
  });
}

async function readKnown(engine: Engine): Promise<Known> {
  const list = await engine.getDoc(LIST);
  if (list === undefined) return NOTHING;
  const last = reads.get(engine);
  if (last?.version === list.version) return last.done;
  const done = readAgain(engine, list, last?.done);
  reads.set(engine, { version: list.version, done });
  return done.catch((error: unknown) => {
    if (reads.get(engine)?.done === done) reads.delete(engine);
    throw error;
  });
}

async function readAgain(
  engine: Engine,
  { version, content }: { readonly version: number; readonly content: string },
  read: Promise<Known> | undefined,
): Promise<Known> {
  const ids = parseList(content);
  const before = await read?.catch(() => undefined);
  const isLonger = before?.registry.bundles.every((id, index) => id === ids[index]) === true;
  let { registry, bytes } = isLonger && before !== undefined ? before : NOTHING;
  for (const id of ids.slice(registry.bundles.length)) {
    const text = await readBundle(engine, id);
    if (text === undefined) throw corrupt(nameOf(id), `the bundle ${id} of types is missing`);
    const bundle = await parseBundle(JSON.parse(text), breathe);
    registry = await mergeBundle(registry, bundle, breathe);
    bytes += Buffer.byteLength(text);
  }
  return { version, registry, bytes };
}

function parseList(content: string): readonly string[] {
  const { bundles } = JSON.parse(content) as { bundles?: unknown };
  if (Array.isArray(bundles) && bundles.every((id) => typeof id === 'string')) return bundles;
  throw corrupt(LIST, 'the document is not a list of bundles');
}

function nameOf(id: string): string {
  const hash: Hash = hashText(id);
  return `cxdb/bundles/${hash}.json`;
}
