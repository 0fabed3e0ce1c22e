import type { ContextRow, TurnRow } from '../rows.ts';
import type { Draft } from './draft.ts';
import { planAdoption } from './plan-adoption.ts';
import {
  planBlobs,
  findFirst,
  findKeyed,
  planKeyedTurns,
  planTurns,
  planFsRoot,
  planPatch,
} from './plan-turns.ts';
import { findMade, planContext } from './plan-contexts.ts';
import { planDoc, planLog } from './plan-records.ts';
import { planDelta, planOpen, planSeals } from './plan-streams.ts';
import type { PreparedBatch } from './prepared-batch.ts';
import { type Planned, Report } from './report.ts';

/** Puts the whole batch into `draft`, or throws. After an error the caller drops the draft. */
export function planBatch(draft: Draft, batch: PreparedBatch): Planned {
  const { changes } = batch;
  const { idempotency: key } = changes;
  const first = key === undefined ? undefined : findFirst(draft, key, changes.turns ?? []);
  if (first?.turns !== undefined) return replay({ turns: first.turns });
  const keyed = changes.turns && findKeyed(draft, changes);
  const known = keyed?.flatMap(({ row }) => row ?? []);
  if (known !== undefined && known.length === keyed?.length) return replay({ turns: known });
  const made = findMade(draft, changes, batch.blobs.length);
  if (made !== undefined) return replay({ contexts: [made] });
  const report = new Report();
  planBlobs(draft, batch, report);
  changes.contexts?.forEach((change) => planContext(draft, change, report));
  if (changes.turns !== undefined) {
    if (keyed === undefined) planTurns(draft, changes.turns, report, first?.hash);
    else planKeyedTurns(draft, changes.turns, report, keyed);
  }
  changes.opens?.forEach((open) => planOpen(draft, open, report));
  changes.deltas?.forEach((delta) => planDelta(draft, delta, report));
  if (changes.seals !== undefined) planSeals(draft, changes.seals, report);
  changes.patches?.forEach((patch) => planPatch(draft, patch, report));
  changes.fsRoots?.forEach((attach) => planFsRoot(draft, attach, report));
  changes.logs?.forEach((change) => planLog(draft, change, report));
  changes.docs?.forEach((change) => planDoc(draft, change, report));
  if (batch.adoption !== undefined) planAdoption(draft, batch.adoption, report);
  return report;
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
