import type { ContextRow, TurnRow } from '../rows.ts';
import type { Draft } from './draft.ts';
import { planAdoption } from './plan-adoption.ts';
import {
  planBlobs,
  findFirst,
  findKeyed,
  planKeyedTurns,
  planTurns,
  assertExpectedHead,
  assertNoOpenTurn,
} from './plan-turns.ts';
import { findMade, planContext, mustGetHead, mustGetSealed, remember } from './plan-contexts.ts';
import { planFsRoot, planPatch } from './plan-patches.ts';
import { planDoc, planLog } from './plan-records.ts';
import { planDelta, planOpen, planSeals } from './plan-streams.ts';
import type { PreparedBatch } from './prepared-batch.ts';
import type { Planned } from './report.ts';
import { Report } from './report.ts';
import { NO_TURN } from '../../base/brand.ts';
import type { TurnId } from '../../base/brand.ts';
import {
  LEFT_HEADS_MAX,
  decodeHeadMoves,
  encodeHeadMoves,
  headMovesName,
} from '../../format/head-moves.ts';
import type { LeftHead } from '../../format/head-moves.ts';
import type { HeadRecord } from '../../format/head-record.ts';
import { jumpDepth } from '../../format/turn-record.ts';
import type { ContextChange } from '../batch.ts';

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
  const hash = first?.hash;
  const report = new Report();
  planBlobs(draft, batch, report);
  for (const change of changes.contexts ?? []) {
    if (change.do === 'move') planMove(draft, change, report);
    else planContext(draft, change, report);
  }
  if (changes.turns !== undefined) {
    if (keyed === undefined) planTurns(draft, changes.turns, report, hash);
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

/** Moves a head to any sealed turn, or to none. A move to where the head is changes nothing. */
function planMove(
  draft: Draft,
  change: ContextChange & { readonly do: 'move' },
  report: Report,
): void {
  const head = mustGetHead(draft, change.context);
  assertNoOpenTurn(head);
  assertExpectedHead(head, change.expectedHead);
  const to = change.head;
  const headDepth = to === NO_TURN ? 0 : mustGetSealed(draft, to).row.depth;
  report.said.set(head.id, draft.getMeta(head.id));
  const moved: HeadRecord = { ...head, head: to, headDepth };
  report.moved(moved);
  if (to === head.head) return;
  noteMove(draft, head, to);
  draft.heads.set(Number(head.id), moved);
  report.moves.push(head.id);
  report.changed = true;
}

/** The turns alone could not tell where the head is now. The head that is left can be moved to again for a while. */
function noteMove(draft: Draft, { id, head }: HeadRecord, to: TurnId): void {
  const name = headMovesName(id);
  const text = draft.readDoc(name);
  const before = text === undefined ? [] : (decodeHeadMoves(text)?.left ?? []);
  const left = leftHeads(draft, before, head).filter(({ turn }) => turn !== to);
  const after = BigInt(draft.counters.nextTurn - 1) as TurnId;
  remember(draft, name, encodeHeadMoves({ move: { to, after }, left }));
}

/** A head that the newest one builds on is part of it: going back step by step leaves one head. */
function leftHeads(draft: Draft, before: readonly LeftHead[], head: TurnId): readonly LeftHead[] {
  const [newest] = before;
  if (head === NO_TURN || (newest !== undefined && isBefore(draft, head, newest.turn))) {
    return before;
  }
  const others = before.filter(({ turn }) => turn !== head);
  return [{ turn: head, leftAt: draft.nowMs }, ...others].slice(0, LEFT_HEADS_MAX);
}

/** True when `older` is `newer` or one of its ancestors. */
function isBefore(draft: Draft, older: TurnId, newer: TurnId): boolean {
  const depth = draft.getSealedTurn(older)?.row.depth;
  let turn = draft.getSealedTurn(newer);
  while (depth !== undefined && turn !== undefined && turn.row.depth > depth) {
    const { row, jump } = turn;
    const isNear = row.depth === 0 || jumpDepth(row.depth) < depth;
    turn = draft.getSealedTurn(isNear ? row.parent : (BigInt(jump) as TurnId));
  }
  return turn?.row.id === older;
}
