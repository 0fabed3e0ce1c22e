import type { PreparedBlob } from '../../format/blob-record.ts';
import type { Draft } from './draft.ts';
import type { ReadyBlobs } from './prepared-batch.ts';
import type { Report } from './report.ts';

export function planBlobs(draft: Draft, ready: ReadyBlobs, report: Report): void {
  for (const blob of ready.blobs) planBlob(draft, blob, report);
  for (const hash of ready.relies) draft.view.relyOnBlob(hash);
  for (const extent of ready.extents) {
    // Chunks count even when the list is there: a collection may have taken some of them.
    if (extent.chunks.length === 0) continue;
    draft.extents.push(extent);
    report.changed = true;
  }
}

function planBlob(draft: Draft, blob: PreparedBlob, report: Report): void {
  if (!draft.hasBlob(blob.hash)) {
    draft.blobs.set(blob.hash, blob);
    report.changed = true;
  }
  if (blob.sha256 === undefined || draft.findSha256(blob.sha256) !== undefined) return;
  draft.sha256.set(blob.sha256, blob.hash);
  report.changed = true;
}
