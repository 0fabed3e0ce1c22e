import type { Hash } from '../../../base/brand.ts';
import { corrupt, exists, invalid } from '../../../base/errors.ts';
import { untilFirst } from '../../../base/retry.ts';
import { hashText } from '../../../base/hash.ts';
import type { Engine } from '../../../engine/engine.ts';
import { Turns } from '../exchange/pace.ts';
import { NO_TYPES, mergeBundle, parseBundle } from './type-bundle.ts';
import type { Registry } from './type-bundle.ts';

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

/** The registry that this process has read, with the version of the list. */
const known = new WeakMap<Engine, Known>();
/** The read that is under way. Callers who ask meanwhile wait for it. */
const reading = new WeakMap<Engine, { readonly version: number; readonly done: Promise<Known> }>();
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
  const before = known.get(engine);
  if (before?.version === list.version) return before;
  const under = reading.get(engine);
  if (under?.version === list.version) return under.done;
  const done = readAgain(engine, list, before);
  reading.set(engine, { version: list.version, done });
  try {
    const read = await done;
    known.set(engine, read);
    return read;
  } finally {
    if (reading.get(engine)?.done === done) reading.delete(engine);
  }
}

async function readAgain(
  engine: Engine,
  { version, content }: { readonly version: number; readonly content: string },
  before: Known | undefined,
): Promise<Known> {
  const ids = parseList(content);
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
