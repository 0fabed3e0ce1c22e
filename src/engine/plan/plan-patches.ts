import { QuipuError, invalid } from '../../base/errors.ts';
import type { PatchAppend } from '../batch.ts';
import type { PatchRow } from '../rows.ts';
import type { Draft } from './draft.ts';
import { mustGetSealed } from './plan-contexts.ts';
import { assertBlob } from './plan-turns.ts';
import type { Report } from './report.ts';

export function planPatch(draft: Draft, patch: PatchAppend, report: Report): void {
  if (draft.getOpen(patch.turn) !== undefined) {
    throw invalid('patch', `names turn ${patch.turn}, which is still open`);
  }
  const { row: turn } = mustGetSealed(draft, patch.turn);
  assertBlob(draft, patch.payload);
  const number = Number(turn.id);
  const newest = draft.newestPatch(number);
  if (patch.expectedSeq !== undefined && patch.expectedSeq !== newest) {
    throw new QuipuError('HEAD_MOVED', `the newest patch on turn ${turn.id} is ${newest}`, {
      context: String(turn.id),
      expected: String(patch.expectedSeq),
      head: String(newest),
    });
  }
  const { tombstone, encoding, payload, size } = patch;
  const seq = draft.counters.nextPatch;
  const row: PatchRow = {
    seq,
    turn: turn.id,
    tombstone,
    encoding,
    payload,
    size,
    createdAt: draft.nowMs,
  };
  draft.counters.nextPatch += 1;
  draft.patches.set(seq, { ...row, fsRoot: false });
  draft.newestPatches.set(number, seq);
  report.patches.push(row);
  report.changed = true;
}
