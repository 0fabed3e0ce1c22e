import { toHash, type Hash } from '../../base/brand.ts';
import { notFound, QuipuError, invalid } from '../../base/errors.ts';
import { hashBytes } from '../../base/hash.ts';
import { kindOf, encodeUtf8 } from '../../base/text.ts';
import { untilFirst } from '../../base/retry.ts';
import type { BlobPut } from '../../engine/batch.ts';
import type { Engine } from '../../engine/engine.ts';
import { REGISTRY_DOC, checkName, isHash, parseObject, unreadable } from '../home/documents.ts';
import { checkText, BUNDLE_BYTES_MAX, type WorkflowsHome } from '../home/workflows-home.ts';
import type { Descriptor } from './descriptor.ts';

export interface RegisteredBundle {
  readonly name: string;
  readonly description?: string;
  /** Oldest first; the last one counts. A rollback adds one. */
  readonly versions: readonly BundleVersion[];
  /** The bundle that the name stands for now. */
  readonly hash: Hash;
}

/** Programs of workflows: one ES module each, named by its content, registered in `workflow.yaml`. */
export interface Bundles {
  /** Loads the module in a worker of its own to check it, stores it, and makes the name stand for it from now on. */
  add(
    source: string | Uint8Array,
    options?: {
      readonly name?: string;
      /** The file that the source comes from, for errors. */
      readonly file?: string;
    },
  ): Promise<RegisteredBundle>;
  list(): Promise<readonly RegisteredBundle[]>;
  get(name: string): Promise<RegisteredBundle | undefined>;
  /** The bundle's description of itself. */
  describe(name: string): Promise<Descriptor>;
  source(name: string): Promise<string>;
  /** Returns every bundle that the name stood for, oldest first. */
  history(name: string): Promise<readonly BundleVersion[]>;
  /** Makes the name stand for an earlier bundle again; default the one before. */
  rollback(name: string, hash?: string): Promise<RegisteredBundle>;
  /** Removes the name from the registry. Threads that were started with its bundles stay, and nobody runs them. */
  remove(name: string): Promise<void>;
}

/** One bundle that a name stood for, from `since` on. */
export interface BundleVersion {
  readonly hash: Hash;
  readonly since: number;
}

type Registry = ReadonlyMap<string, RegisteredBundle>;

// `workflow.yaml` is written as JSON, which every reader of YAML 1.2 accepts, and is read as JSON. The store keeps only
// documents of JSON, and two ways to write one thing would be one too many.

export function parseRegistry(content: string): Registry {
  const { workflows = {} } = parseObject(REGISTRY_DOC, content);
  if (kindOf(workflows) !== 'object') throw unreadable(REGISTRY_DOC, 'workflows is not an object');
  const registry = new Map<string, RegisteredBundle>();
  for (const [name, value] of Object.entries(workflows as object)) {
    registry.set(name, toRegistered(name, value));
  }
  return registry;
}

function formatRegistry(registry: Registry): string {
  const workflows = Object.fromEntries(
    [...registry].map(([name, { description, versions }]) => [name, { description, versions }]),
  );
  return `${JSON.stringify({ workflows }, undefined, 2)}\n`;
}

function toRegistered(name: string, value: unknown): RegisteredBundle {
  checkName(name);
  const { description, versions } = (kindOf(value) === 'object' ? value : {}) as {
    description?: unknown;
    versions?: unknown;
  };
  if (Array.isArray(versions) && versions.every(isVersion)) {
    const newest = versions.at(-1);
    const said = typeof description === 'string' ? { description } : {};
    if (newest !== undefined) return { name, ...said, versions, hash: newest.hash };
  }
  throw unreadable(REGISTRY_DOC, `${name} has no list of versions`);
}

function isVersion(value: unknown): value is BundleVersion {
  if (kindOf(value) !== 'object') return false;
  const { hash, since } = value as Record<string, unknown>;
  return isHash(hash) && Number.isSafeInteger(since);
}

export async function readRegistry(
  engine: Engine,
): Promise<{ registry: Registry; version: number }> {
  const doc = await engine.getDoc(REGISTRY_DOC);
  if (doc === undefined) return { registry: new Map(), version: 0 };
  return { registry: parseRegistry(doc.content), version: doc.version };
}

export async function mustGetBundle(engine: Engine, name: string): Promise<RegisteredBundle> {
  const { registry } = await readRegistry(engine);
  return mustFind(registry, name);
}

export function mustFind(registry: Registry, name: string): RegisteredBundle {
  const registered = registry.get(name);
  if (registered !== undefined) return registered;
  const message = `there is no workflow ${name}; register one with "quipu workflow add"`;
  throw notFound('workflow', name, message);
}

/** Changes the registry. The plan is made again when another process was faster. */
async function changeRegistry(
  engine: Engine,
  plan: (registry: Registry) => Registry,
  puts: readonly BlobPut[] = [],
): Promise<Registry> {
  return untilFirst(async () => {
    const { registry, version } = await readRegistry(engine);
    const changed = plan(registry);
    const doc = { name: REGISTRY_DOC, content: formatRegistry(changed) };
    await engine.commit({
      blobs: puts,
      docs: [{ ...doc, expectedVersion: version, publish: true }],
    });
    return changed;
  });
}

/**
 * The only way to the code of a bundle. A thread may name any hash, and any client that may write can put any bytes. So
 * only a bundle runs that a caller with that right registered.
 */
export async function readBundleSource(engine: Engine, hash: Hash): Promise<Uint8Array> {
  const { registry } = await readRegistry(engine);
  const versions = [...registry.values()].flatMap((registered) => registered.versions);
  if (!versions.some((version) => version.hash === hash)) {
    const message = `no workflow is registered with the bundle ${hash}, so it is not run; if you trust it, register it with "quipu workflow add"`;
    throw notFound('bundle', hash, message);
  }
  const bytes = await engine.getBlob(hash);
  if (bytes !== undefined) return bytes;
  const message = `there is no bundle ${hash}: it was erased; register it again with "quipu workflow add"`;
  throw notFound('bundle', hash, message);
}

const FILE_BYTES_MAX = 4096;

export function bundleVerbs({ engine, clock, quickMs }: WorkflowsHome): Bundles {
  return {
    async add(source, options = {}) {
      const bytes = checkSource(source);
      const { BundleHost } = await import('./bundle-host.ts');
      await using host = await BundleHost.load(bytes, { quickMs, ...checkFile(options.file) });
      const { description } = host.descriptor;
      const name = checkName(options.name ?? host.descriptor.name);
      const hash = hashBytes(bytes);
      const version = { hash, since: clock() };
      const registry = await changeRegistry(
        engine,
        (before) => {
          const said = description === undefined ? {} : { description };
          const versions = withVersion(before.get(name)?.versions, version);
          return new Map(before).set(name, { name, ...said, versions, hash });
        },
        [{ hash, bytes }],
      );
      return mustFind(registry, name);
    },

    async list() {
      return [...(await readRegistry(engine)).registry.values()];
    },

    async get(name) {
      return (await readRegistry(engine)).registry.get(checkName(name));
    },

    async describe(name) {
      const bytes = await sourceOf(name);
      const { BundleHost } = await import('./bundle-host.ts');
      await using host = await BundleHost.load(bytes, { quickMs });
      return host.descriptor;
    },

    async source(name) {
      return Buffer.from(await sourceOf(name)).toString('utf8');
    },

    async history(name) {
      return (await mustGetBundle(engine, checkName(name))).versions;
    },

    async rollback(name, hash) {
      checkName(name);
      const registry = await changeRegistry(engine, (before) => {
        const registered = mustFind(before, name);
        const target = rollbackTarget(registered, hash);
        const versions = withVersion(registered.versions, { hash: target, since: clock() });
        return new Map(before).set(name, { ...registered, hash: target, versions });
      });
      return mustFind(registry, name);
    },

    async remove(name) {
      checkName(name);
      await changeRegistry(engine, (before) => {
        mustFind(before, name);
        return new Map([...before].filter(([other]) => other !== name));
      });
    },
  };

  async function sourceOf(name: string): Promise<Uint8Array> {
    return readBundleSource(engine, (await mustGetBundle(engine, checkName(name))).hash);
  }
}

function checkFile(file: string | undefined): { readonly file?: string } {
  return file === undefined ? {} : { file: checkText(file, 'file', FILE_BYTES_MAX) };
}

/** The version counts from now on. */
function withVersion(
  before: readonly BundleVersion[] = [],
  version: BundleVersion,
): readonly BundleVersion[] {
  return before.at(-1)?.hash === version.hash ? before : [...before, version];
}

function rollbackTarget({ name, hash: now, versions }: RegisteredBundle, asked?: string): Hash {
  if (asked !== undefined) {
    const hash = toHash(asked, 'bundle');
    if (versions.some((version) => version.hash === hash)) return hash;
    throw notFound('bundle', hash, `workflow ${name} never had the bundle ${hash}`);
  }
  const before = versions.findLast((version) => version.hash !== now);
  if (before !== undefined) return before.hash;
  throw invalid('name', `${name} has no bundle before this one`);
}

function checkSource(source: unknown): Uint8Array {
  const bytes = typeof source === 'string' ? encodeUtf8(source) : source;
  if (!(bytes instanceof Uint8Array)) {
    throw invalid('source', `must be the text or the bytes of a module, got ${kindOf(source)}`);
  }
  if (bytes.length > 0 && bytes.length <= BUNDLE_BYTES_MAX) return new Uint8Array(bytes);
  if (bytes.length === 0) throw invalid('source', 'is empty');
  const message = `a bundle has at most ${BUNDLE_BYTES_MAX} bytes, got ${bytes.length}`;
  const data = { what: 'bundle', limit: BUNDLE_BYTES_MAX, size: bytes.length };
  throw new QuipuError('TOO_LARGE', message, data);
}
