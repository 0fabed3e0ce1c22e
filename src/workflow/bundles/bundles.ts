import type { Hash } from '../../base/brand.ts';
import type { Descriptor } from '../run/descriptor.ts';
import type { BundleVersion, Registered } from './registry.ts';

export interface RegisteredBundle extends Registered {
  /** The one that counts. */
  readonly hash: Hash;
}

/** Programs of workflows: one ES module each, named by its content, registered in `workflow.yaml`. */
export interface Bundles {
  /** Loads the module apart to see that it is one, stores it, and lets the name stand for it from now on. */
  add(source: string | Uint8Array, options?: { readonly name?: string }): Promise<RegisteredBundle>;
  list(): Promise<readonly RegisteredBundle[]>;
  get(name: string): Promise<RegisteredBundle | undefined>;
  /** What the bundle says about itself. */
  describe(name: string): Promise<Descriptor>;
  source(name: string): Promise<string>;
  /** Every bundle that the name stood for, oldest first. */
  history(name: string): Promise<readonly BundleVersion[]>;
  /** Lets the name stand for an earlier bundle again; default the one before. */
  rollback(name: string, hash?: string): Promise<RegisteredBundle>;
  /** Takes the name out of the registry. Threads that were started with its bundles stay, and nobody runs them. */
  remove(name: string): Promise<void>;
}
