import { NO_TURN } from '../../base/brand.ts';
import type { Hash, KeyHash } from '../../base/brand.ts';
import { type QuipuError, invalid, notFound } from '../../base/errors.ts';
import { hashBytes } from '../../base/hash.ts';
import { IDEMPOTENCY_BYTES, bytesToKeyHash } from '../../format/idempotency.ts';
import { TurnFlag } from '../../format/turn-record.ts';
import type { TurnEntry } from '../adoption.ts';
import type { TurnRow } from '../rows.ts';
import type { Draft, StoredTurn } from './draft.ts';
import { mustGetSealed } from './plan-contexts.ts';
import { assertNoOpenTurn, declareType, planJump } from './plan-turns.ts';
import type { Report } from './report.ts';

const NEVER_STORED = TurnFlag.OPEN | TurnFlag.PATCHED | TurnFlag.TOMBSTONE;

/** Makes the record of the turn. Its context learns of the turn later, since both may come with the same adoption. */
export function adoptTurn(draft: Draft, entry: TurnEntry, report: Report): void {
  const { counters } = draft;
  const number = Number(entry.id);
  if (number !== counters.nextTurn) throw outOfOrder('turn', number, counters.nextTurn);
  const turn = entry.gone === undefined ? planRecord(draft, entry.row) : stubOf(entry);
  if (turn.row.id !== entry.id) throw invalid('turns', `give turn ${number} another number`);
  const idempotency = claimKey(draft, entry);
  counters.nextTurn += 1;
  draft.turns.set(number, { ...turn, idempotency });
  if (idempotency !== undefined) draft.keys.set(idempotency, number);
  if (entry.gone !== undefined) draft.goneTurns.set(number, true);
  else report.turns.push(turn.row);
}

function planRecord(draft: Draft, row: TurnRow): Omit<StoredTurn, 'idempotency'> {
  const { id, flags, payload, type, version } = row;
  if ((flags & NEVER_STORED) !== 0 || payload === undefined) {
    throw invalid(
      'turns',
      `bring turn ${id}, which is not sealed or has flags that only reads set`,
    );
  }
  assertU32(row, ['size', 'encoding', 'flags', 'depth', 'version']);
  const parent = row.parent === NO_TURN ? undefined : mustGetSealed(draft, row.parent);
  if (row.depth !== (parent === undefined ? 0 : parent.row.depth + 1)) {
    throw invalid('turns', `give turn ${id} a depth that does not fit its parent`);
  }
  assertPayload(draft, payload);
  declareType(draft, { type, version });
  return { row, jump: planJump(draft, parent), sideJump: parent?.jump ?? 0 };
}

/** Checks that the payload is here. A payload that was erased in the other store need not be. */
export function assertPayload(draft: Draft, hash: Hash): void {
  if (!draft.hasBlob(hash) && !draft.isErased(hash)) draft.assertBlob(hash);
}

/** A record that holds the turn's number and belongs to no context. */
function stubOf({ id }: TurnEntry): Omit<StoredTurn, 'idempotency'> {
  const place = { parent: NO_TURN, context: 0n as TurnRow['context'], depth: 0 };
  const about = { type: '', version: 0, encoding: 0, flags: 0, createdAt: 0 };
  // A record needs some payload. The payload of a turn that is gone is never read.
  const payload = hashBytes(new Uint8Array());
  return { row: { id, ...place, ...about, payload, size: 0 }, jump: 0, sideJump: 0 };
}

function claimKey(draft: Draft, { id, key }: TurnEntry): KeyHash | undefined {
  if (key === undefined) return undefined;
  if (key.length !== IDEMPOTENCY_BYTES || key.every((byte) => byte === 0)) {
    throw invalid(
      'turns',
      `bring turn ${id} with a key that is no hash of ${IDEMPOTENCY_BYTES} bytes`,
    );
  }
  const hash = bytesToKeyHash(key);
  if ((draft.keys.get(hash) ?? draft.view.findKey(hash)) !== undefined) {
    throw invalid('turns', `bring turn ${id} with a key that another turn has`);
  }
  return hash;
}

/** Makes the turn the head of its context, unless the context was removed. */
export function moveToTurn(draft: Draft, row: TurnRow, report: Report): void {
  const head = draft.getHead(row.context);
  if (head === undefined) {
    const wasThere = row.context >= 1n && Number(row.context) < draft.counters.nextContext;
    if (!wasThere) throw notFound('context', row.context);
    return;
  }
  assertNoOpenTurn(head);
  const updatedAt = Math.max(head.updatedAt, row.createdAt);
  const moved = { ...head, head: row.id, headDepth: row.depth, updatedAt };
  draft.heads.set(Number(head.id), moved);
  report.moved(moved);
}

export function assertU32<K extends string>(
  row: { readonly [Name in K]: number },
  names: readonly K[],
): void {
  for (const name of names) {
    const value = row[name];
    if (Number.isInteger(value) && value >= 0 && value <= 0xffff_ffff) continue;
    throw invalid(name, `must be a whole number below 2^32, got ${value}`);
  }
}

export function outOfOrder(what: string, got: number, next: number): QuipuError<'INVALID'> {
  return invalid(
    'adoption',
    `continues at ${what} ${got}, and the store at ${what} ${next}: it is no copy of that store so far`,
  );
}
