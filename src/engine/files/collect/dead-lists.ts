import { BlobCodec } from '../../../format/blob-record.ts';
import { overwriteRecords } from '../packs/overwrite-records.ts';
import type { SweepPlan } from '../../upkeep.ts';
import type { BlobPlace } from '../index/shelf.ts';
import type { Writer } from '../commit/writer.ts';

// The list of a large blob lies in another pack than its chunks, and that pack may be mostly alive and
// stay. So dead lists go before any chunk does: a list is never without its chunks, whatever is
// rewritten, skipped or interrupted after this.

/** Few enough that commits wait for a moment only. */
const PAGE_LISTS = 64;

/** Overwrites lists that are not kept. Asks again between two commits. */
export class DeadLists {
  readonly #writer: Writer;
  readonly #isKept: (place: BlobPlace) => boolean;
  readonly #plan: Pick<SweepPlan, 'settle'>;
  #page: BlobPlace[] = [];
  /** How many went. */
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

  /** For every place that is not kept: the lists among them go, sooner or later. */
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
