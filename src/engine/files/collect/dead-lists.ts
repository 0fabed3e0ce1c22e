import { BlobCodec } from '../../../format/blob-record.ts';
import { overwriteRecords } from '../packs/overwrite-records.ts';
import type { SweepPlan } from '../../upkeep.ts';
import type { BlobPlace } from '../index/shelf.ts';
import type { Writer } from '../commit/writer.ts';

// The list of a large blob lies in another pack than its chunks, and that pack may be mostly alive and stay. So
// dead lists are removed before any chunk. A list is never without its chunks, whatever is rewritten, skipped or
// interrupted after this.

/** Small enough that commits wait only for a moment. */
const PAGE_LISTS = 64;

/** Overwrites lists that are not kept. Asks the plan again between two commits. */
export class DeadLists {
  readonly #writer: Writer;
  readonly #isKept: (place: BlobPlace) => boolean;
  readonly #plan: Pick<SweepPlan, 'settle'>;
  #page: BlobPlace[] = [];
  /** The number of lists that were overwritten. */
  dropped = 0;

  constructor(
    writer: Writer,
    plan: Pick<SweepPlan, 'settle'>,
    isKept: (place: BlobPlace) => boolean,
  ) {
    this.#writer = writer;
    this.#plan = plan;
    this.#isKept = isKept;
  }

  /** Takes every place that is not kept. The lists among them are removed later. */
  add(place: BlobPlace): Promise<void> | undefined {
    if (place.codec !== BlobCodec.chunks) return undefined;
    this.#page.push(place);
    return this.#page.length < PAGE_LISTS ? undefined : this.drop();
  }

  async drop(): Promise<void> {
    const page = this.#page;
    this.#page = [];
    if (page.length === 0) return;
    await this.#writer.exclusively(async () => {
      await this.#plan.settle?.();
      const dead = page.filter((place) => !this.#isKept(place));
      await overwriteRecords(this.#writer, dead);
      this.dropped += dead.length;
    });
  }
}
