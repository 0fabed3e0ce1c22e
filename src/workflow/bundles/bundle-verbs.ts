import { toHash, type Hash } from '../../base/brand.ts';
import { QuipuError, invalid, notFound } from '../../base/errors.ts';
import { hashBytes } from '../../base/hash.ts';
import { encodeUtf8, kindOf } from '../../base/text.ts';
import { checkText } from '../home/check-input.ts';
import { checkName } from '../home/documents.ts';
import { BUNDLE_BYTES_MAX } from '../home/limits.ts';
import type { WorkflowsHome } from '../home/workflows-home.ts';
import {
  changeRegistry,
  mustFind,
  mustGetBundle,
  readBundleSource,
  readRegistry,
  toBundle,
  type Bundles,
  type RegisteredBundle,
  type Registered,
} from './bundles.ts';

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
      const version = { name, hash, since: clock() };
      const registry = await changeRegistry(
        engine,
        (before) => {
          const { versions } = withVersion(before.get(name), version);
          const said = description === undefined ? {} : { description };
          return new Map(before).set(name, { name, ...said, versions });
        },
        [{ hash, bytes }],
      );
      return mustFind(registry, name);
    },

    async list() {
      return [...(await readRegistry(engine)).registry.values()].map(toBundle);
    },

    async get(name) {
      const registered = (await readRegistry(engine)).registry.get(checkName(name));
      return registered && toBundle(registered);
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
        const { hash: _, ...rest } = registered;
        return new Map(before).set(name, withVersion(rest, { name, hash: target, since: clock() }));
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

/** Makes the name stand for `hash` from now on. */
function withVersion(
  registered: Registered | undefined,
  { name, hash, since }: { name: string; hash: Hash; since: number },
): Registered {
  const versions = registered?.versions ?? [];
  if (versions.at(-1)?.hash === hash) return { ...registered, name, versions };
  return { ...registered, name, versions: [...versions, { hash, since }] };
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
