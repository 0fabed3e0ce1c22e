import type { Contexts } from '../context/contexts.ts';
import type { ReadPage } from '../context/turns/loaded-page.ts';
import type { Blobs } from './blobs.ts';
import type { Maintain } from './maintain.ts';

/** Verbs that need the data at hand, for a store whose engine is in another process. */
export interface StoreElsewhere {
  readonly readPage: ReadPage;
  readonly gc: Maintain['gc'];
  readonly retain: Maintain['retain'];
  readonly eraseTurn: Contexts['erase'];
  readonly eraseBlob: Blobs['erase'];
}
