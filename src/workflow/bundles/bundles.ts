import type { Hash } from '../../base/brand.ts';
import type { Descriptor } from '../run/descriptor.ts';
import type { BundleVersion, Registered } from './registry.ts';

export interface RegisteredBundle extends Registered {
  /** The bundle that the name stands for now. */
  readonly hash: Hash;
}

/** Programs of workflows: one ES module each, named by its content, registered in `workflow.yaml`. */
export interface Bundles {
  /** Loads the module in a thread of its own to check it, stores it, and makes the name stand for it from now on. */
  add(source: string | Uint8Array, options?: { readonly name?: string }): Promise<RegisteredBundle>;
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
