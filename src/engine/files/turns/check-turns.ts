import { isCollected } from '../../../format/collected-map.ts';
import {
  decodeTurnRecord,
  TURN_RECORD_BYTES,
  TurnFlag,
  type TurnRecord,
} from '../../../format/turn-record.ts';
import { TURNS_FILE } from './turn-table.ts';
import { type Check, eachRecord } from '../truth/check.ts';
import { type Found, staleIndex } from '../truth/findings.ts';
import { TurnLinks } from './turn-links.ts';

const NEVER_STORED = TurnFlag.OPEN | TurnFlag.PATCHED | TurnFlag.TOMBSTONE;
const EMPTY_SLOT: Buffer = Buffer.alloc(TURN_RECORD_BYTES);

/** Checks every turn record. `check.turns` tells the checks of heads and patches which turns exist. */
export async function checkTurns(check: Check): Promise<void> {
  const { findings, snapshot } = check;
  const { tails, totals, openTurns } = snapshot;
  const links = new TurnLinks(tails.nextTurn, tails.nextContext);
  const file = {
    file: TURNS_FILE,
    recordBytes: TURN_RECORD_BYTES,
    next: tails.nextTurn,
    what: 'turns',
  };
  let damaged = 0;
  let logicalBytes = 0;
  await eachRecord(check, file, (bytes, id) => {
    // An open turn has an empty slot, which may be filled at any moment.
    if (openTurns.has(id)) return;
    const turn = decodeTurnRecord(bytes);
    if (turn === undefined || Number(turn.id) !== id || turn.payload === undefined) {
      damaged += 1;
      findings.add(damagedTurn(id, bytes));
      return;
    }
    findings.counts.turns += 1;
    logicalBytes += turn.size;
    checkTurn(check, turn, links);
    links.add(turn);
  });
  const right = totals.turns === findings.counts.turns && totals.logicalBytes === logicalBytes;
  if (damaged === 0 && !right) {
    findings.add(staleIndex('the index counts turns, or their bytes, wrongly'));
  }
  check.turns = links;
}

function damagedTurn(id: number, bytes: Uint8Array): Found {
  const gone = EMPTY_SLOT.subarray(0, bytes.length).equals(bytes);
  return problemOfTurn(id, `the record of turn ${id} is ${gone ? 'gone' : 'damaged'}`, true);
}

function checkTurn(check: Check, turn: TurnRecord, links: TurnLinks): void {
  const { core, findings, snapshot, blobs } = check;
  const id = Number(turn.id);
  const wrong = links.problemOf(turn);
  if (wrong !== undefined) findings.add(problemOfTurn(id, wrong, true));
  if (turn.idempotency !== undefined && core.index.findKey(turn.idempotency) !== id) {
    findings.add(staleIndex(`the index does not know the idempotency key of turn ${id}`, `${id}`));
  }
  // The rest of a collected record is never read. A turn that was gone before it was copied has no more.
  if (isCollected(core.collected, id)) return;
  if (!core.types.has(turn.typeTag)) {
    findings.add(problemOfTurn(id, `the type of turn ${id} is not declared`, true));
  }
  const context = Number(turn.context);
  if (context < 1 || context >= snapshot.tails.nextContext) {
    findings.add(problemOfTurn(id, `turn ${id} is in a context that never was`, true));
  }
  if ((turn.flags & NEVER_STORED) !== 0) {
    findings.add(problemOfTurn(id, `turn ${id} has flags that are never stored`, true));
  }
  if (turn.payload !== undefined && !blobs.isThere(core, turn.payload)) {
    findings.add(problemOfTurn(id, `the payload of turn ${id} cannot be read`, false));
  }
}

function problemOfTurn(id: number, what: string, inRecord: boolean): Found {
  return {
    what,
    file: TURNS_FILE,
    offset: id * TURN_RECORD_BYTES,
    id: String(id),
    severity: 'lost',
    length: inRecord ? TURN_RECORD_BYTES : 0,
  };
}
