import type { State } from '../truth/state.ts';
import type { ContextRow, HeadRow, PatchRow, TurnRow } from '../../rows.ts';
import type { Found, Wanted } from '../../engine.ts';
import { toHeadRow } from '../../plan/report.ts';
import { showRows } from '../../show-rows.ts';

/** Undefined for a context that was removed. */
export async function getHead(core: State, id: number): Promise<HeadRow | undefined> {
  const head = await core.getHead(id);
  return head === undefined || head.removed ? undefined : toHeadRow(head);
}

export async function getContext(core: State, id: number): Promise<ContextRow | undefined> {
  const head = await getHead(core, id);
  return head && { ...head, meta: await core.getContextMeta(id) };
}

export async function getMany(core: State, wanted: Wanted): Promise<Found> {
  const contexts: ContextRow[] = [];
  for (const id of wanted.contexts ?? []) {
    const row = await getContext(core, Number(id));
    if (row !== undefined) contexts.push(row);
  }
  const turns: TurnRow[] = [];
  for (const id of wanted.turns ?? []) {
    // Recently appended turns are in memory and cost no wait.
    const turn = core.peekSealedTurn(Number(id)) ?? (await core.findTurn(Number(id)));
    if (turn !== undefined) turns.push(turn.row);
  }
  const patches: readonly PatchRow[] = await core.getPatchesAt(wanted.patches ?? []);
  return { contexts, turns: showRows(core, turns), patches: showRows(core, patches) };
}
