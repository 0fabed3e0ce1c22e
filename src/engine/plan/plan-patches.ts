import type { Hash } from '../../base/brand.ts';
import { QuipuError, invalid, notFound } from '../../base/errors.ts';
import type { FsRootAttach, PatchAppend } from '../batch.ts';
import type { PatchRow } from '../rows.ts';
import type { Draft } from './draft.ts';
import { mustGetSealed } from './plan-contexts.ts';
import type { Report } from './report.ts';

export function planPatch(draft: Draft, patch: PatchAppend, report: Report): void {
  if (draft.getOpen(patch.turn) !== undefined) {
    throw invalid('patch', `names turn ${patch.turn}, which is still open`);
  }
  const { row: turn } = mustGetSealed(draft, patch.turn);
  draft.assertBlob(patch.payload);
  const number = Number(turn.id);
  const newest = draft.newestPatch(number);
  if (patch.expectedSeq !== undefined && patch.expectedSeq !== newest) {
    throw new QuipuError(
      'HEAD_MOVED',
      `the newest patch on turn ${turn.id} is ${newest}, not ${patch.expectedSeq}; read it and try again`,
      {
        context: String(turn.id),
        expected: String(patch.expectedSeq),
        head: String(newest),
      },
    );
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

export function planFsRoot(draft: Draft, attach: FsRootAttach, report: Report): void {
  if (draft.getOpen(attach.turn) === undefined) mustGetSealed(draft, attach.turn);
  addFsRoot(draft, attach, report);
}

/** Trusts that the turn exists. */
export function addFsRoot(draft: Draft, { turn, root }: FsRootAttach, report: Report): void {
  assertTree(draft, root);
  const seq = draft.counters.nextPatch;
  draft.counters.nextPatch += 1;
  draft.patches.set(seq, {
    turn,
    seq,
    payload: root,
    tombstone: false,
    fsRoot: true,
    encoding: 0,
    size: 0,
    createdAt: draft.nowMs,
  });
  report.fsRoots.push({ turn, root, seq });
  report.changed = true;
}

function assertTree(draft: Draft, root: Hash): void {
  if (draft.hasBlob(root)) return;
  throw notFound('fs root tree blob', root, `there is no fs root tree blob ${root}; put it first`);
}
