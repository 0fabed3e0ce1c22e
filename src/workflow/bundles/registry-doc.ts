import type { Hash } from '../../base/brand.ts';
import { QuipuError, isQuipuError } from '../../base/errors.ts';
import type { BlobPut } from '../../engine/batch.ts';
import type { Engine } from '../../engine/engine.ts';
import type { RegisteredBundle } from './bundles.ts';
import { TRIES_MAX } from '../limits.ts';
import { REGISTRY_DOC } from '../names.ts';
import { formatRegistry, parseRegistry } from './registry.ts';
import type { Registered, Registry } from './registry.ts';
import { unreadable } from '../threads/thread-index.ts';

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
  throw new QuipuError('NOT_FOUND', message, { what: 'workflow', id: name });
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
  for (let tries = 1; ; tries += 1) {
    const { registry, version } = await readRegistry(engine);
    const changed = plan(registry);
    const doc = { name: REGISTRY_DOC, content: formatRegistry(changed) };
    try {
      await engine.commit({
        blobs: puts,
        docs: [{ ...doc, expectedVersion: version, publish: true }],
      });
      return changed;
    } catch (error) {
      if (!isQuipuError(error, 'HEAD_MOVED') || tries === TRIES_MAX) throw error;
    }
  }
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
    throw new QuipuError('NOT_FOUND', message, { what: 'bundle', id: hash });
  }
  const bytes = await engine.getBlob(hash);
  if (bytes !== undefined) return bytes;
  const message = `there is no bundle ${hash}: it was erased; register it again with "quipu workflow add"`;
  throw new QuipuError('NOT_FOUND', message, { what: 'bundle', id: hash });
}
