import { toTurnId } from '../../base/brand.ts';
import type { TurnId } from '../../base/brand.ts';
import type { Engine } from '../../engine/engine.ts';

// Turns appended per day. Ids rise with time, so the first turn of a day is found by halving: about twenty record reads
// for each day, however many turns there are.

export interface DayOfTurns {
  /** Such as `2026-11-18`, UTC. */
  readonly day: string;
  readonly turns: number;
}

const DAY_MS = 86_400_000;
/** Turns that were collected have no time; a neighbour stands in for each. */
const NEIGHBOURS = 64;

/** The last `days` days with turns, oldest first. Days without turns are left out. */
export async function activityOf(
  engine: Pick<Engine, 'tips' | 'getTurn'>,
  days: number,
  nowMs: number,
): Promise<DayOfTurns[]> {
  const newest = (await engine.tips()).turn;
  const today = Math.floor(nowMs / DAY_MS) * DAY_MS;
  const found: DayOfTurns[] = [];
  let end = newest + 1n;
  for (let back = 0; end > 1n; back += 1) {
    // Days without turns are passed over at once, however many they are.
    const newestMs = (await timeBelow(engine, end)) ?? Infinity;
    back = Math.max(back, Math.ceil((today - newestMs) / DAY_MS));
    if (back >= days) break;
    const startMs = today - back * DAY_MS;
    const start = await firstFrom(engine, startMs, end);
    const turns = Number(end - start);
    if (turns > 0) found.push({ day: new Date(startMs).toISOString().slice(0, 10), turns });
    end = start;
  }
  return found.reverse();
}

/** The first id, below `end`, of a turn at or after `atMs`. */
async function firstFrom(
  engine: Pick<Engine, 'getTurn'>,
  atMs: number,
  end: bigint,
): Promise<bigint> {
  let low = 1n;
  let high = end;
  while (low < high) {
    const middle = (low + high) / 2n;
    const time = await timeNear(engine, middle, high);
    if (time === undefined || time >= atMs) high = middle;
    else low = middle + 1n;
  }
  return low;
}

/** The time of a turn below `end`: of the newest one, or of one further down where turns were collected. */
async function timeBelow(
  engine: Pick<Engine, 'getTurn'>,
  end: bigint,
): Promise<number | undefined> {
  for (let step = 1n; step < end; step = step < NEIGHBOURS ? step + 1n : step * 2n) {
    const row = await engine.getTurn(toTurnId(end - step) as TurnId);
    if (row !== undefined) return row.createdAt;
  }
  return undefined;
}

async function timeNear(
  engine: Pick<Engine, 'getTurn'>,
  id: bigint,
  end: bigint,
): Promise<number | undefined> {
  for (let at = id; at < end && at < id + BigInt(NEIGHBOURS); at += 1n) {
    const row = await engine.getTurn(toTurnId(at) as TurnId);
    if (row !== undefined) return row.createdAt;
  }
  return undefined;
}
