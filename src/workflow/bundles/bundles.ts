import type { Hash } from '../../base/brand.ts';
import { notFound } from '../../base/errors.ts';
import { kindOf } from '../../base/text.ts';
import type { BlobPut } from '../../engine/batch.ts';
import type { Engine } from '../../engine/engine.ts';
import { REGISTRY_DOC, checkName, isHash, parseObject, unreadable } from '../home/documents.ts';
import { untilFirst } from '../../base/retry.ts';
import type { Descriptor } from './descriptor.ts';

export interface RegisteredBundle extends Registered {
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

export interface Registered {
  readonly name: string;
  readonly description?: string;
  /** Oldest first; the last one counts. A rollback adds one. */
  readonly versions: readonly BundleVersion[];
}

type Registry = ReadonlyMap<string, Registered>;

// `workflow.yaml` is written as JSON, which every reader of YAML 1.2 accepts, and is read as JSON. The store keeps only
// documents of JSON, and two ways to write one thing would be one too many.

export function parseRegistry(content: string): Registry {
  const { workflows = {} } = parseObject(REGISTRY_DOC, content);
  if (kindOf(workflows) !== 'object') throw unreadable(REGISTRY_DOC, 'workflows is not an object');
  const registry = new Map<string, Registered>();
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

function toRegistered(name: string, value: unknown): Registered {
  checkName(name);
  const { description, versions } = (kindOf(value) === 'object' ? value : {}) as {
    description?: unknown;
    versions?: unknown;
  };
  if (!Array.isArray(versions) || versions.length === 0 || !versions.every(isVersion)) {
    throw unreadable(REGISTRY_DOC, `${name} has no list of versions`);
  }
  return { name, ...(typeof description === 'string' && { description }), versions };
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
  if (registered !== undefined) return toBundle(registered);
  const message = `there is no workflow ${name}; register one with "quipu workflow add"`;
  throw notFound('workflow', name, message);
}

export function toBundle(registered: Registered): RegisteredBundle {
  const newest = registered.versions.at(-1);
  if (newest === undefined) throw unreadable(REGISTRY_DOC, `${registered.name} has no version`);
  return { ...registered, hash: newest.hash };
}

/** Changes the registry. The plan is made again when another process was faster. */
export async function changeRegistry(
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
