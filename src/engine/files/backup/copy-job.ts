import type { Progress } from '../../progress.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import type { CopySink } from './copy-sink.ts';

/** The values that every part of copying works with. */
export interface CopyJob {
  readonly from: StoreFiles;
  readonly into: CopySink;
  readonly progress: Progress | undefined;
}

/** Small reads and writes run without a wait. A long row of them yields to others in between. */
export async function breathe(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}
