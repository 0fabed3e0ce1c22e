import type { Progress } from '../../progress.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import type { CopySink } from './copy-sink.ts';

/** What every part of copying works with. */
export interface CopyJob {
  readonly from: StoreFiles;
  readonly into: CopySink;
  readonly progress: Progress | undefined;
}

/** Small reads and writes are made at once; a long row of them lets others have a turn in between. */
export async function breathe(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}
