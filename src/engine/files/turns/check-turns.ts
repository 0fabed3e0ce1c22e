import { isCollected } from '../../../format/collected-map.ts';
import {
  decodeTurnRecord,
  jumpsToGrandJump,
  TURN_RECORD_BYTES,
  TurnFlag,
  type TurnRecord,
} from '../../../format/turn-record.ts';
import { type Check, eachRecord } from '../truth/check.ts';
import { type Found, staleIndex } from '../truth/findings.ts';
import { TURNS_FILE } from './turn-table.ts';

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

// The facts to remember of each turn while the records are read in order: its depth and its jump. They take 8 bytes
// and a bit per turn, 4 bytes per context: 82 MB for ten million turns. Turns are numbered below 2^32 here. A store
// with more turns would have half a terabyte of turn records alone.

export class TurnLinks {
  readonly #depths: Uint32Array;
  readonly #jumps: Uint32Array;
  readonly #intact: Uint8Array;
  readonly #newest: Uint32Array;

  constructor(nextTurn: number, nextContext: number) {
    this.#depths = new Uint32Array(nextTurn);
    this.#jumps = new Uint32Array(nextTurn);
    this.#intact = new Uint8Array(Math.ceil(nextTurn / 8));
    this.#newest = new Uint32Array(nextContext);
  }

  add(turn: TurnRecord): void {
    const id = Number(turn.id);
    this.#depths[id] = turn.depth;
    this.#jumps[id] = Number(turn.jump);
    this.#intact[id >> 3] = (this.#intact[id >> 3] ?? 0) | (1 << (id & 7));
    const context = Number(turn.context);
    if (context < this.#newest.length) this.#newest[context] = id;
  }

  isIntact(id: number): boolean {
    return ((this.#intact[Math.floor(id / 8)] ?? 0) & (1 << (id % 8))) !== 0;
  }

  depthOf(id: number): number {
    return this.#depths[id] ?? 0;
  }

  /** The newest turn that was appended to the context. 0 when there is none. */
  newestIn(context: number): number {
    return this.#newest[context] ?? 0;
  }

  /** Describes the error in the turn's place in its tree. Undefined when it is right or cannot be checked. */
  problemOf(turn: TurnRecord): string | undefined {
    const id = Number(turn.id);
    const parent = Number(turn.parent);
    if (parent === 0) {
      const isRoot = turn.depth === 0 && turn.jump === 0n && turn.sideJump === 0n;
      return isRoot ? undefined : `turn ${id} has no parent, and is not at depth 0`;
    }
    if (parent >= id) return `the parent of turn ${id} is not older than the turn`;
    // A damaged parent is a separate problem.
    if (!this.isIntact(parent)) return undefined;
    const depth = this.depthOf(parent);
    if (turn.depth !== depth + 1) return `the depth of turn ${id} does not fit its parent`;
    const parentJump = this.#jumps[parent] ?? 0;
    if (Number(turn.sideJump) !== parentJump) return `the side jump of turn ${id} is wrong`;
    const viaJump = parentJump !== 0 && jumpsToGrandJump(depth);
    if (viaJump && !this.isIntact(parentJump)) return undefined;
    const jump = viaJump ? (this.#jumps[parentJump] ?? 0) : parent;
    return Number(turn.jump) === jump ? undefined : `the jump of turn ${id} is wrong`;
  }
}
