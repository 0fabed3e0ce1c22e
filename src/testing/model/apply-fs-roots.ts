import { QuipuError } from '../../base/errors.ts';
import type { FsRootAttach } from '../../engine/batch.ts';
import type { Draft } from './draft.ts';

export function applyFsRoot(draft: Draft, { turn, root }: FsRootAttach): void {
  const { state } = draft;
  state.mustGetTurn(turn);
  if (!state.blobs.has(root)) {
    throw new QuipuError('NOT_FOUND', `there is no fs root tree blob ${root}`, {
      what: 'fs root tree blob',
      id: root,
    });
  }
  const row = { turn, root, seq: state.nextSeq };
  draft.set(state.fsRoots, row.seq, row);
  draft.set(state.fsRootTimes, row.seq, draft.nowMs);
  draft.fsRoots.push(row);
}
