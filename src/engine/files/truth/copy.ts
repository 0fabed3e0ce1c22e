import type { Progress } from '../../progress.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import type { Tails } from './state.ts';

// A copy of one moment is made beside writers, in two steps. Truths that change in place are copied first, while the
// frames of that time are noted. Carried out in the copy, as after a crash, the frames give the state of the last
// one, which is the moment. Truths that only grow are copied after it, up to its tails, so nothing of them is noted.
// Every record is checked while it is copied: a backup must not take over damage that a check would find too late.

/** A pack that no longer grows. */
export interface CopiedPack {
  readonly number: number;
  readonly length: number;
}

/** A pack, up to the byte where it counts. */
export interface PackSpan extends CopiedPack {
  readonly closed: boolean;
}

/** The destination of a copy. It writes nothing that the copy shows already. */
interface CopyInto {
  readonly files: StoreFiles;
  /** Whether the copy has these bytes at this place already, and they count. */
  shows(path: string, offset: number, data: Uint8Array): Promise<boolean>;
  put(path: string, offset: number, data: Uint8Array): Promise<void>;
  replace(path: string, data: Uint8Array): Promise<void>;
  remove(path: string): Promise<void>;
  /** Writes pieces one behind the other. */
  stream(path: string, offset: number, pieces: AsyncIterable<Uint8Array>): Promise<void>;
  /** Makes a file that appears whole and durable, or not at all. */
  create(path: string, pieces: AsyncIterable<Uint8Array>): Promise<void>;
}

/** A state of the store that the copy shows. A folder that is not in use has an empty store, and closed packs. */
export interface Earlier {
  readonly tails: Tails;
  /** Turns that were open: their slots are empty. */
  readonly openTurns: readonly number[];
  /** The blobs named by this many first records of the erasure log are erased in the copy, too. */
  readonly erased: number;
}

export interface CopyJob {
  readonly from: StoreFiles;
  readonly into: CopyInto;
  readonly progress: Progress | undefined;
  /** The ends of the files in the store. */
  readonly tails: Tails;
  readonly openTurns: { has(turn: number): boolean; keys(): Iterable<number> };
  readonly earlier: Earlier;
  /** The length up to which each pack of the copy equals the store's. */
  readonly packs: Map<number, PackSpan>;
  /** The logs that the copy has. */
  readonly logs: Set<string>;
  /** Runs `work` while nothing is written. */
  readonly between: <T>(work: () => Promise<T>) => Promise<T>;
  /** Whether there is such a log, damaged or not. */
  readonly hasLog: (name: string) => Promise<boolean>;
}

/** A truth that changes in place is copied while frames are noted. One that only grows is copied after that. */
export interface Copy {
  readonly when: 'noted' | 'after';
  readonly run: (job: CopyJob) => Promise<void>;
}

/** Copies a small file as a whole. */
export async function copySmall({ from, into }: CopyJob, name: string): Promise<void> {
  const size = await from.size(name);
  if (size === 0) await into.remove(name);
  else await into.replace(name, await from.read(name, 0, size));
}

/** Small reads and writes run without a wait. A long row of them yields to others in between. */
export async function breathe(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}
