import { QuipuError, invalid } from '../../../base/errors.ts';
import { hexOf } from '../../../base/hex.ts';
import { idempotencyHash } from '../../../format/idempotency.ts';
import { TurnFlag } from '../../../format/turn-flags.ts';
import type { Idempotency, TurnAppend } from '../../batch.ts';
import type { TurnRow } from '../../rows.ts';
import type { Draft } from './draft.ts';
import { planContext } from './plan-contexts.ts';
import { planPatch } from './plan-patches.ts';
import { planDoc, planLog } from './plan-records.ts';
import { planDelta, planOpen, planSeal } from './plan-streams.ts';
import { planTurn } from './plan-turns.ts';
import type { Planned, PreparedBatch } from './planned.ts';
import type { PreparedBlob } from './prepared-blob.ts';
import { Report } from './report.ts';

/** Puts the whole batch into `draft`, or throws; the caller drops the draft then. */
export async function planBatch(draft: Draft, batch: PreparedBatch): Promise<Planned> {
  const key = batch.idempotency;
  const hash = key === undefined ? undefined : idempotencyHash(key.context, key.key);
  if (key !== undefined && hash !== undefined) {
    const turns = await findFirst(draft, key, hash, batch.turns ?? []);
    if (turns !== undefined) return replay(turns);
  }
  const report = new Report();
  for (const blob of batch.blobs) await planBlob(draft, blob, report);
  draft.extents.push(...batch.extents);
  for (const change of batch.contexts ?? []) await planContext(draft, change, report);
  for (const [index, turn] of (batch.turns ?? []).entries()) {
    const idempotency = index === 0 ? hash : undefined;
    await planTurn(draft, turn, {
      report,
      idempotency,
      continues: hash !== undefined && index > 0,
    });
  }
  for (const open of batch.opens ?? []) await planOpen(draft, open, report);
  for (const delta of batch.deltas ?? []) await planDelta(draft, delta, report);
  for (const seal of batch.seals ?? []) await planSeal(draft, seal, report);
  for (const patch of batch.patches ?? []) await planPatch(draft, patch, report);
  for (const change of batch.logs ?? []) await planLog(draft, change, report);
  for (const change of batch.docs ?? []) await planDoc(draft, change, report);
  return report.toPlanned();
}

async function planBlob(draft: Draft, blob: PreparedBlob, report: Report): Promise<void> {
  if (!(await draft.hasBlob(blob.hash))) {
    draft.blobs.set(blob.hash, blob);
    report.changed = true;
  }
  if (blob.sha256 === undefined || draft.findSha256(blob.sha256) !== undefined) return;
  draft.sha256.set(blob.sha256, blob.hash);
  report.changed = true;
}

/** The turns this key stands for already, if it was seen before; throws when they are others. */
async function findFirst(
  draft: Draft,
  key: Idempotency,
  hash: Uint8Array,
  appends: readonly TurnAppend[],
): Promise<readonly TurnRow[] | undefined> {
  if (appends.length === 0) throw invalid('idempotency', 'needs a turn to stand for');
  if (appends.some((append) => append.context !== key.context)) {
    throw invalid('idempotency', 'is for one context, and a turn of the batch goes to another');
  }
  const first = draft.keys.get(hexOf(hash)) ?? draft.view.findKey(hash);
  if (first === undefined) return undefined;
  const rows = await readBatchFrom(draft, first);
  if (rows.length === appends.length && rows.every((row, at) => isSame(row, appends[at])))
    return rows;
  throw new QuipuError(
    'IDEMPOTENCY_CONFLICT',
    `the key ${JSON.stringify(key.key)} stands for other turns, from turn ${first} on; use a new key for new content`,
    { context: String(key.context), key: key.key, turn: String(first) },
  );
}

/** A batch took consecutive ids, and all its turns but the first say that they continue it. */
async function readBatchFrom(draft: Draft, first: number): Promise<TurnRow[]> {
  const rows: TurnRow[] = [];
  for (let id = first; ; id += 1) {
    const known = id < draft.counters.nextTurn;
    const row = known ? (await draft.getSealedTurn(BigInt(id) as TurnRow['id']))?.row : undefined;
    if (row === undefined) return rows;
    if (id > first && (row.flags & TurnFlag.CONTINUES) === 0) return rows;
    rows.push(row);
  }
}

function isSame(row: TurnRow, append: TurnAppend | undefined): boolean {
  const given = (row.flags & TurnFlag.PARENT_GIVEN) !== 0;
  return (
    append !== undefined &&
    row.type === append.type &&
    row.version === append.version &&
    row.encoding === append.encoding &&
    row.payload === append.payload &&
    row.size === append.size &&
    append.parent === (given ? row.parent : undefined)
  );
}

function replay(turns: readonly TurnRow[]): Planned {
  const nothing = { contexts: [], opened: [], sealed: [], patches: [], logs: [], docs: [] };
  return {
    changed: false,
    toCommitted: (seq) => ({ seq, replayed: true, turns, ...nothing }),
    toChange: () => undefined,
  };
}
