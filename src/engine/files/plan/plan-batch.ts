import type { TurnRow } from '../../rows.ts';
import type { Draft } from './draft.ts';
import { findFirst } from './find-first.ts';
import { planContext } from './plan-contexts.ts';
import { planFsRoot } from './plan-fs-roots.ts';
import { planPatch } from './plan-patches.ts';
import { planDoc, planLog } from './plan-records.ts';
import { planDelta, planOpen, planSeal } from './plan-streams.ts';
import { planTurn } from './plan-turns.ts';
import type { Planned, PreparedBatch } from './planned.ts';
import type { PreparedBlob } from './prepared-blob.ts';
import { Report } from './report.ts';

/** Puts the whole batch into `draft`, or throws; the caller drops the draft then. */
export function planBatch(draft: Draft, batch: PreparedBatch): Planned {
  const { idempotency: key } = batch;
  const first = key === undefined ? undefined : findFirst(draft, key, batch.turns ?? []);
  if (first?.turns !== undefined) return replay(first.turns);
  const hash = first?.hash;
  const report = new Report();
  for (const blob of batch.blobs) planBlob(draft, blob, report);
  for (const hash of batch.relies) draft.view.relyOnBlob(hash);
  for (const extent of batch.extents) {
    // Chunks count even when the list is there: a collection may have taken some of them.
    if (extent.chunks.length === 0) continue;
    draft.extents.push(extent);
    report.changed = true;
  }
  for (const change of batch.contexts ?? []) planContext(draft, change, report);
  for (const [index, turn] of (batch.turns ?? []).entries()) {
    const idempotency = index === 0 ? hash : undefined;
    planTurn(draft, turn, {
      report,
      idempotency,
      continues: hash !== undefined && index > 0,
    });
  }
  for (const open of batch.opens ?? []) planOpen(draft, open, report);
  for (const delta of batch.deltas ?? []) planDelta(draft, delta, report);
  for (const seal of batch.seals ?? []) planSeal(draft, seal, report);
  for (const patch of batch.patches ?? []) planPatch(draft, patch, report);
  for (const attach of batch.fsRoots ?? []) planFsRoot(draft, attach, report);
  for (const change of batch.logs ?? []) planLog(draft, change, report);
  for (const change of batch.docs ?? []) planDoc(draft, change, report);
  return report.toPlanned();
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

function replay(turns: readonly TurnRow[]): Planned {
  const nothing = { contexts: [], opened: [], sealed: [], logs: [], docs: [] };
  const overlays = { patches: [], fsRoots: [] };
  return {
    changed: false,
    toCommitted: (seq) => ({ seq, replayed: true, turns, ...nothing, ...overlays }),
    toChange: () => undefined,
  };
}
