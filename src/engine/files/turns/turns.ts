import { BitSet } from '../../../base/bit-set.ts';
import {
  decodeCollectedMap,
  isCollected,
  jumpsToGrandJump,
  TURN_RECORD_BYTES,
  TurnFlag,
  type TurnRecord,
} from '../../../format/turn-record.ts';
import { corrupt } from '../disk/io-error.ts';
import type { Index } from '../index/store-index.ts';
import { type Check, checkLengths, type Found, staleIndex } from '../truth/check.ts';
import { type CopyJob, copySmall } from '../truth/copy.ts';
import { cannot, type Rebuild, type Truth } from '../truth/truth.ts';
import {
  COLLECTED_FILE,
  TURN_RECORDS,
  TYPES_FILE,
  checkCollected,
  checkTypes,
  readCollected,
  typeLinesIn,
  withCollected,
} from './turn-table.ts';

// Turns, their declared types, and which of them were collected.                       docs/format/turns.md
// Invariants
// - Record n of turns.log is at n times the record size. It is written once, when the turn is sealed. Until then
//   the slot is empty, and the id is taken.
// - A type is in types.jsonl before a turn of that type exists, or in the same frame.
// - A turn in collected.map may have lost its payload and reads as if it had never existed.

export const TURNS: Truth = {
  name: 'turns',
  folders: ['turns'],
  files: [TURN_RECORDS.own, { name: TYPES_FILE }],
  owns: (path) => path === COLLECTED_FILE,
  lengths: (tails) => [
    // The end of turns.log may belong to turns that are still open.
    TURN_RECORDS.lengthBy(tails),
    [TYPES_FILE, tails.typesBytes],
  ],
  advance(tails, write) {
    if (write.kind === 'whole' && write.path === COLLECTED_FILE) {
      return withCollected(tails, decodeCollectedMap(write.data));
    }
    if (write.path !== TYPES_FILE) return TURN_RECORDS.advance(tails, write);
    if (write.kind !== 'bytes') return tails;
    return { ...tails, typesBytes: Math.max(tails.typesBytes, write.offset + write.data.length) };
  },
  replay({ index }, write) {
    if (write.path !== TURN_RECORDS.name) return;
    for (const turn of TURN_RECORDS.inWrite(write)) indexTurn(index, turn);
  },
  rebuild: rebuildTurns,
  async check(check) {
    await checkLengths(check, [[TYPES_FILE, check.snapshot.tails.typesBytes]]);
    await checkTypes(check);
    await checkCollected(check);
    await checkTurns(check);
  },
  mend: cannot('no other truth knows what a turn said'),
  copy: { when: 'after', run: copyTurns },
};

async function rebuildTurns(rebuild: Rebuild): Promise<void> {
  await TURN_RECORDS.rebuild(rebuild, 'turns', (turn, id) => {
    if (turn === undefined) return rebuild.isOpenTurn(id);
    if (Number(turn.id) !== id) return false;
    indexTurn(rebuild.index, turn);
    const context = Number(turn.context);
    if (context < rebuild.newest.length) rebuild.newest[context] = id;
    return true;
  });
}

function indexTurn(index: Index, turn: TurnRecord): void {
  if (turn.idempotency !== undefined) index.addKey(turn.idempotency, Number(turn.id));
  index.count({ turns: 1, logicalBytes: turn.size });
}

async function copyTurns(job: CopyJob): Promise<void> {
  const isEmpty = (turn: number): boolean => job.openTurns.has(turn);
  // Turns that were open then may have been sealed since. A copy that was opened has ended them by itself.
  for (const turn of job.earlier.openTurns) {
    await TURN_RECORDS.copy(job, { isEmpty, first: turn, next: turn + 1 });
  }
  await TURN_RECORDS.copy(job, { isEmpty });
  await copyTypes(job);
  await readCollected(job.from);
  await copySmall(job, COLLECTED_FILE);
}

async function copyTypes({ from, into, earlier, tails }: CopyJob): Promise<void> {
  const start = earlier.tails.typesBytes;
  const end = tails.typesBytes;
  if (start === end) return;
  const types = await from.read(TYPES_FILE, 0, end);
  if (types.length < end) throw corrupt(TYPES_FILE, types.length, 'the end of the file is gone');
  for (const { line, offset } of typeLinesIn(types)) {
    if (line === undefined) throw corrupt(TYPES_FILE, offset, 'this line is not a declared type');
  }
  await into.put(TYPES_FILE, start, types.subarray(start));
}

const NEVER_STORED = TurnFlag.OPEN | TurnFlag.PATCHED | TurnFlag.TOMBSTONE;
const EMPTY_SLOT: Buffer = Buffer.alloc(TURN_RECORD_BYTES);

/** Checks every turn record. `check.turns` tells the checks of heads and patches which turns exist. */
async function checkTurns(check: Check): Promise<void> {
  const { findings, snapshot } = check;
  const { tails, totals, openTurns } = snapshot;
  const links = new TurnLinks(tails.nextTurn, tails.nextContext);
  let damaged = 0;
  let logicalBytes = 0;
  await TURN_RECORDS.check(check, 'turns', (bytes, id) => {
    // An open turn has an empty slot, which may be filled at any moment.
    if (openTurns.has(id)) return;
    const turn = TURN_RECORDS.decode(bytes, id);
    if (turn?.payload === undefined) {
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
  return TURN_RECORDS.problem(id, `the record of turn ${id} is ${gone ? 'gone' : 'damaged'}`);
}

function checkTurn(check: Check, turn: TurnRecord, links: TurnLinks): void {
  const { core, findings, snapshot, blobs } = check;
  const id = Number(turn.id);
  const wrong = links.problemOf(turn);
  if (wrong !== undefined) findings.add(TURN_RECORDS.problem(id, wrong));
  if (turn.idempotency !== undefined && core.index.findKey(turn.idempotency) !== id) {
    findings.add(staleIndex(`the index does not know the idempotency key of turn ${id}`, `${id}`));
  }
  // The rest of a collected record is never read. A turn that was gone before it was copied has no more.
  if (isCollected(core.collected, id)) return;
  if (!core.types.has(turn.typeTag)) {
    findings.add(TURN_RECORDS.problem(id, `the type of turn ${id} is not declared`));
  }
  const context = Number(turn.context);
  if (context < 1 || context >= snapshot.tails.nextContext) {
    findings.add(TURN_RECORDS.problem(id, `turn ${id} is in a context that never was`));
  }
  if ((turn.flags & NEVER_STORED) !== 0) {
    findings.add(TURN_RECORDS.problem(id, `turn ${id} has flags that are never stored`));
  }
  if (turn.payload !== undefined && !blobs.isThere(core, turn.payload)) {
    findings.add(TURN_RECORDS.problem(id, `the payload of turn ${id} cannot be read`, false));
  }
}

// The facts to remember of each turn while the records are read in order: its depth and its jump. They take 8 bytes
// and a bit per turn, 4 bytes per context: 82 MB for ten million turns. Turns are numbered below 2^32 here. A store
// with more turns would have half a terabyte of turn records alone.

export class TurnLinks {
  readonly #depths: Uint32Array;
  readonly #jumps: Uint32Array;
  readonly #intact: BitSet = new BitSet();
  readonly #newest: Uint32Array;

  constructor(nextTurn: number, nextContext: number) {
    this.#depths = new Uint32Array(nextTurn);
    this.#jumps = new Uint32Array(nextTurn);
    this.#newest = new Uint32Array(nextContext);
  }

  add(turn: TurnRecord): void {
    const id = Number(turn.id);
    this.#depths[id] = turn.depth;
    this.#jumps[id] = Number(turn.jump);
    this.#intact.add(id);
    const context = Number(turn.context);
    if (context < this.#newest.length) this.#newest[context] = id;
  }

  isIntact(id: number): boolean {
    return this.#intact.has(id);
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
