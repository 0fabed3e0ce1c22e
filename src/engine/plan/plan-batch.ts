import type { ContextRow, TurnRow } from '../rows.ts';
import type { Draft } from './draft.ts';
import { planAdoption } from './plan-adoption.ts';
import { findFork, keyedCreate, planContext } from './plan-contexts.ts';
import { planFsRoot, planPatch } from './plan-patches.ts';
import { planDoc, planLog } from './plan-records.ts';
import { planDelta, planOpen, planSeal } from './plan-streams.ts';
import { findFirst, planTurns } from './plan-turns.ts';
import type { PreparedBatch } from './prepared-batch.ts';
import type { Planned } from './report.ts';
import type { PreparedBlob } from '../../format/blob-record.ts';
import { Report } from './report.ts';

/** Puts the whole batch into `draft`, or throws. After an error the caller drops the draft. */
export function planBatch(draft: Draft, batch: PreparedBatch): Planned {
  const { rest } = batch;
  const { idempotency: key } = rest;
  const first = key === undefined ? undefined : findFirst(draft, key, rest.turns ?? []);
  if (first?.turns !== undefined) return replay({ turns: first.turns });
  const keyed = keyedCreate(rest, batch.blobs.length);
  const forked = keyed && findFork(draft, keyed);
  if (forked !== undefined) return replay({ contexts: [forked] });
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
  rest.contexts?.forEach((change) => planContext(draft, change, report));
  if (rest.turns !== undefined) planTurns(draft, rest.turns, report, hash);
  rest.opens?.forEach((open) => planOpen(draft, open, report));
  rest.deltas?.forEach((delta) => planDelta(draft, delta, report));
  rest.seals?.forEach((seal) => planSeal(draft, seal, report));
  rest.patches?.forEach((patch) => planPatch(draft, patch, report));
  rest.fsRoots?.forEach((attach) => planFsRoot(draft, attach, report));
  rest.logs?.forEach((change) => planLog(draft, change, report));
  rest.docs?.forEach((change) => planDoc(draft, change, report));
  if (batch.adoption !== undefined) planAdoption(draft, batch.adoption, report);
  return report;
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

function replay(found: {
  readonly contexts?: readonly ContextRow[];
  readonly turns?: readonly TurnRow[];
}): Planned {
  const { contexts = [], turns = [] } = found;
  const nothing = { opened: [], sealed: [], logs: [], docs: [] };
  const overlays = { patches: [], fsRoots: [] };
  return {
    changed: false,
    toCommitted: (seq) => ({ seq, replayed: true, contexts, turns, ...nothing, ...overlays }),
    toChange: () => undefined,
  };
}
