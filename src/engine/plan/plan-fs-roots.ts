import type { Hash } from '../../base/brand.ts';
import { QuipuError } from '../../base/errors.ts';
import type { FsRootAttach } from '../batch.ts';
import type { Draft } from './draft.ts';
import { mustGetSealed } from './plan-contexts.ts';
import type { Report } from './report.ts';

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
  throw new QuipuError('NOT_FOUND', `there is no fs root tree blob ${root}; put it first`, {
    what: 'fs root tree blob',
    id: root,
  });
}
