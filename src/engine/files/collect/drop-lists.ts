import { BlobCodec } from '../../../format/blob-record.ts';
import { overwriteRecords } from '../erase/overwrite-records.ts';
import type { BlobPlace } from '../index/shelf.ts';
import type { Writer } from '../writer.ts';

// The list of a large blob lies in another pack than its chunks, and that pack may be mostly alive and
// stay. So dead lists go before any chunk does: a list is never without its chunks, whatever is
// rewritten, skipped or interrupted after this.

/** Few enough that commits wait for a moment only. */
const PAGE_LISTS = 64;

/** Overwrites every list that is not kept; returns how many. Asks again between two commits. */
export async function dropLists(
  writer: Writer,
  isKept: (place: BlobPlace) => boolean,
): Promise<number> {
  let dropped = 0;
  const drop = async (page: readonly BlobPlace[]): Promise<void> => {
    const dead = page.filter((place) => !isKept(place));
    await overwriteRecords(writer, dead);
    dropped += dead.length;
  };
  let page: BlobPlace[] = [];
  for (const place of writer.core.index.walkBlobs()) {
    if (place.codec !== BlobCodec.chunks || isKept(place)) continue;
    page.push(place);
    if (page.length < PAGE_LISTS) continue;
    const full = page;
    page = [];
    await writer.exclusively(() => drop(full));
  }
  if (page.length > 0) await writer.exclusively(() => drop(page));
  return dropped;
}
