import type { Hash } from '../../base/brand.ts';
import { kindOf } from '../../base/check-text.ts';
import { REGISTRY_DOC, checkName } from '../names.ts';
import { isHash, parseObject, unreadable } from '../threads/thread-index.ts';

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

export type Registry = ReadonlyMap<string, Registered>;

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

export function formatRegistry(registry: Registry): string {
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
