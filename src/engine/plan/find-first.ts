import type { KeyHash } from '../../base/brand.ts';
import { QuipuError, invalid } from '../../base/errors.ts';
import { idempotencyHash } from '../../format/idempotency.ts';
import { TurnFlag } from '../../format/turn-record.ts';
import type { Idempotency, TurnAppend } from '../batch.ts';
import type { TurnRow } from '../rows.ts';
import type { Draft } from './draft.ts';

/** The meaning of a key: turns that are there already, or the hash that its first turn will carry. */
export type First =
  | { readonly turns: readonly TurnRow[]; readonly hash?: undefined }
  | { readonly turns?: undefined; readonly hash: KeyHash };

/** Throws when the key was seen before with other turns. */
export function findFirst(draft: Draft, key: Idempotency, appends: readonly TurnAppend[]): First {
  if (appends.length === 0) throw invalid('idempotency', 'needs a turn to stand for');
  if (appends.some((append) => append.context !== key.context)) {
    throw invalid('idempotency', 'is for one context, and a turn of the batch goes to another');
  }
  const { hash, first } = resolveKey(draft, key);
  if (first === undefined) return { hash };
  const turns = readBatchFrom(draft, first);
  const same =
    turns.length === appends.length && turns.every((row, at) => isSame(row, appends[at]));
  if (same && haveRoots(draft, turns, appends)) return { turns };
  throw new QuipuError(
    'IDEMPOTENCY_CONFLICT',
    `the key ${JSON.stringify(key.key)} stands for other turns, from turn ${first} on; use a new key for new content`,
    { context: String(key.context), key: key.key, turn: String(first) },
  );
}

/** A key lives as long as its turn. Once the turn was collected, the key begins a new life. */
function resolveKey(
  draft: Draft,
  { context, key }: Idempotency,
): { hash: KeyHash; first: number | undefined } {
  for (let life = 0; ; life += 1) {
    const hash = idempotencyHash(context, key, life);
    const first = draft.keys.get(hash) ?? draft.view.findKey(hash);
    if (first === undefined || !draft.isGone(first)) return { hash, first };
  }
}

/** The turns of a batch have consecutive ids, and all turns but the first carry the flag CONTINUES. */
function readBatchFrom(draft: Draft, first: number): TurnRow[] {
  const rows: TurnRow[] = [];
  for (let id = first; ; id += 1) {
    const known = id < draft.counters.nextTurn;
    const row = known ? draft.getSealedTurn(BigInt(id) as TurnRow['id'])?.row : undefined;
    if (row === undefined) return rows;
    if (id > first && (row.flags & TurnFlag.CONTINUES) === 0) return rows;
    rows.push(row);
  }
}

/** True when the turns were appended with the file-system roots of `appends`. Roots attached later do not count. */
function haveRoots(
  draft: Draft,
  turns: readonly TurnRow[],
  appends: readonly TurnAppend[],
): boolean {
  for (const [at, { id, flags }] of turns.entries()) {
    const turn = Number(id);
    const given =
      (flags & TurnFlag.FS_ROOT) === 0
        ? undefined
        : (draft.givenRoots.get(turn) ?? draft.firstFsRoot(turn));
    if (given !== appends[at]?.fsRoot) return false;
  }
  return true;
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
