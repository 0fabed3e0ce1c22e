import type { Hash, TurnId } from '../base/brand.ts';
import { invalid } from '../base/errors.ts';
import { hashBytes } from '../base/hash.ts';
import { encodeUtf8 } from '../base/text.ts';
import type { TurnEraseReport } from '../context/contexts.ts';
import { mustGetSealed } from '../context/turns/read-turns.ts';
import type { Change, Batch, PatchAppend } from '../engine/batch.ts';
import type { Engine } from '../engine/engine.ts';
import { ERASURES_LOG } from '../engine/names.ts';
import type { RootSource } from '../engine/roots.ts';
import type { PatchRow } from '../engine/rows.ts';
import type { BlobNeed, EraseReport } from '../engine/upkeep.ts';
import { NO_HASH } from '../format/patch-record.ts';
import { Encoding } from '../format/turn-record.ts';
import { LiveSet } from './live-set.ts';
import { readRefs } from './named-blobs.ts';

const USERS_LISTED_MAX = 1000;
const TURNS_PER_COMMIT = 500;
const NO_NEEDS: BlobNeeds = new Map();

export interface EraseRequest extends Erasure {
  /** The turn whose bytes these are: its own use does not count as use by others. */
  readonly turn?: TurnId;
  /** Erase the blobs also when others use them. */
  readonly everywhere: boolean;
  /** Kinds of thread, other than turns, that may need the blobs. */
  readonly others: readonly RootSource[];
  /** The needs that do not count. */
  readonly letGo?: readonly BlobNeed[];
}

/**
 * Writes tombstones first, so that no turn is ever without both its payload and the reason why. Then erases the bytes.
 * A turn that begins to use a blob while this runs is treated like the turns found before.
 */
export async function eraseBlobs(engine: Engine, request: EraseRequest): Promise<EraseReport[]> {
  const { hashes, turn, everywhere, letGo } = request;
  if (hashes.includes(hashBytes(encodeUtf8(request.reason)))) {
    throw invalid('reason', 'is the text to erase, and a reason stays readable: use other words');
  }
  const erased = new Set(hashes);
  const late = new Set<TurnId>();
  const stopListening = engine.subscribe((change) => {
    for (const user of usersIn(change, erased)) late.add(user);
  });
  try {
    const users = await findUsers(engine, hashes);
    const known = new Set(users.showing);
    const isShared = [...users.byBlob.values()].flat().some((user) => user !== turn);
    const needs = everywhere ? NO_NEEDS : await findNeeds(engine, request.others, hashes, letGo);
    if (!everywhere && (isShared || needs.size > 0)) return toReports(users, needs, false);

    await engine.commit(planErasureLines(request));
    if (turn !== undefined) known.delete(turn);
    await hide(engine, [...known], request);
    if (turn !== undefined) await engine.commit(planTombstones(new Map([[turn, []]]), request));
    // This includes blobs that cannot be found any more: an unfinished attempt may have left parts of them.
    for (const hash of hashes) await engine.upkeep.eraseBlob(hash);
    const others = [...late].filter((user) => user !== turn && !known.has(user));
    await hideLate(engine, others, request);
    return toReports(users, needs, true);
  } finally {
    stopListening();
  }
}

async function hide(engine: Engine, turns: readonly TurnId[], request: Erasure): Promise<void> {
  for (let at = 0; at < turns.length; at += TURNS_PER_COMMIT) {
    const page = turns.slice(at, at + TURNS_PER_COMMIT);
    const patches = new Map<TurnId, PatchRow[]>(page.map((id) => [id, []]));
    for (const row of await engine.getPatches(page)) patches.get(row.turn)?.push(row);
    await engine.commit(planTombstones(patches, request));
  }
}

/** If bytes were put again after they had been erased, they are there, and no turn lacks them. */
async function hideLate(
  engine: Engine,
  late: readonly TurnId[],
  request: EraseRequest,
): Promise<void> {
  if (late.length === 0) return;
  const gone: Hash[] = [];
  for (const hash of request.hashes) if (!(await engine.hasBlob(hash))) gone.push(hash);
  if (gone.length > 0) await hide(engine, late, { ...request, hashes: gone });
}

function toReports(users: BlobUsers, needs: BlobNeeds, erased: boolean): EraseReport[] {
  return [...users.byBlob].map(([hash, turns]) => ({
    hash,
    erased,
    usedBy: turns.slice(0, USERS_LISTED_MAX),
    neededBy: (needs.get(hash) ?? []).slice(0, USERS_LISTED_MAX),
  }));
}

/** Holds only blobs that something needs. */
type BlobNeeds = ReadonlyMap<Hash, readonly BlobNeed[]>;

/**
 * Finds the needs for these blobs, except those in `letGo`. Looks at every root, and reads every node that a root leads
 * to once. A root that cannot be read throws, because it is unknown what the root leads to.
 */
async function findNeeds(
  engine: Engine,
  sources: readonly RootSource[],
  hashes: readonly Hash[],
  letGo: readonly BlobNeed[] = [],
): Promise<BlobNeeds> {
  const found = new Map<Hash, Map<string, BlobNeed>>();
  const wanted = new Set(hashes);
  const seen = new LiveSet();
  const note = (hash: Hash, kind: string, id: string): void => {
    if (!wanted.has(hash)) return;
    if (letGo.some((need) => need.kind === kind && need.id === id)) return;
    const needs = found.get(hash) ?? new Map<string, BlobNeed>();
    found.set(hash, needs.set(`${kind} ${id}`, { kind, id }));
  };
  for (const source of sources) {
    const { kind } = source;
    for await (const root of source.roots()) {
      if ('blob' in root) note(root.blob, kind, root.of ?? root.blob);
      if (!('node' in root)) continue;
      const id = root.of ?? root.node;
      note(root.node, kind, id);
      const pending = seen.add(root.node) ? [root.node] : [];
      for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
        for await (const ref of readRefs(engine, node)) {
          note(ref, kind, id);
          if (seen.add(ref)) pending.push(ref);
        }
      }
    }
  }
  return new Map([...found].map(([hash, needs]) => [hash, [...needs.values()]]));
}

interface BlobUsers {
  /** The turns that use each of some blobs, by rising id. */
  readonly byBlob: ReadonlyMap<Hash, readonly TurnId[]>;
  /** The turns among them that show a blob, as payload or through a patch: without the blob they need a tombstone. */
  readonly showing: ReadonlySet<TurnId>;
}

/** Reads the records of all turns and patches once, and no payload. */
async function findUsers(engine: Engine, hashes: readonly Hash[]): Promise<BlobUsers> {
  const found = new Map(hashes.map((hash) => [hash, new Set<TurnId>()]));
  const showing = new Set<TurnId>();
  const use = (turn: TurnId, payload: Hash, shows: boolean): void => {
    if (found.get(payload)?.add(turn) !== undefined && shows) showing.add(turn);
  };
  const reliance = { blob: () => undefined, turn: () => undefined };
  const collection = await engine.upkeep.startCollection({ graceMs: 0, reliance });
  try {
    for await (const page of collection.turns()) {
      for (const { id, payload } of page) use(id, payload, true);
    }
    for await (const page of collection.patches()) {
      for (const { turn, payload, fsRoot } of page) use(turn, payload, !fsRoot);
    }
  } finally {
    await collection.end();
  }
  const sorted = [...found].map(
    ([hash, turns]) => [hash, [...turns].toSorted((a, b) => (a < b ? -1 : 1))] as const,
  );
  return { byBlob: new Map(sorted), showing };
}

/** The turns that a commit makes show one of these blobs. */
function usersIn(change: Change, hashes: ReadonlySet<Hash>): TurnId[] {
  const uses = (hash: Hash | undefined): boolean => hash !== undefined && hashes.has(hash);
  return [
    ...[...change.turns, ...change.sealed].filter((row) => uses(row.payload)).map(({ id }) => id),
    ...change.patches.filter((row) => uses(row.payload)).map(({ turn }) => turn),
  ];
}

interface Erasure {
  readonly hashes: readonly Hash[];
  readonly reason: string;
  /** Unix time in milliseconds. */
  readonly atMs: number;
}

/** The patches of every turn, oldest first. */
type PatchesOf = ReadonlyMap<TurnId, readonly PatchRow[]>;

/**
 * Trusts its input. Each turn gets a tombstone with the reason. If a patch that stays is in force on a turn, that patch
 * is laid over the tombstone again: the turn did not show the erased bytes.
 */
function planTombstones(turns: PatchesOf, erasure: Erasure): Batch {
  const bytes = encodeUtf8(erasure.reason);
  const blob = { hash: hashBytes(bytes), bytes };
  const patches = [...turns].flatMap(([turn, rows]): PatchAppend[] => {
    const text = { encoding: Encoding.text, payload: blob.hash, size: bytes.length };
    const tombstone = { turn, tombstone: true, ...text };
    const shown = rows.at(-1);
    if (shown === undefined || shown.tombstone || shown.payload === NO_HASH) return [tombstone];
    if (erasure.hashes.includes(shown.payload)) return [tombstone];
    const { encoding, payload, size } = shown;
    return [tombstone, { turn, tombstone: false, encoding, payload, size }];
  });
  return { blobs: [blob], patches };
}

/**
 * The record of erased blobs that no turn tells of. It has no hash, which would let anyone check a guess of the erased
 * bytes.
 */
function planErasureLines({ hashes, reason, atMs }: Erasure): Batch {
  const lines = hashes.map(() => JSON.stringify({ reason, erasedAt: atMs }));
  return { logs: [{ do: 'append', name: ERASURES_LOG, lines }] };
}

/** Erases the payload of a turn together with the payloads that patches laid over it. Reasons of tombstones stay. */
export async function eraseTurn(
  engine: Engine,
  turn: TurnId,
  request: Pick<EraseRequest, 'reason' | 'everywhere' | 'atMs' | 'others'>,
): Promise<TurnEraseReport> {
  const { id } = await mustGetSealed(engine, turn);
  const hashes = await hashesOf(engine, id);
  const gone = new Set<Hash>();
  for (const hash of hashes) if (!(await engine.hasBlob(hash))) gone.add(hash);
  const reports = await eraseBlobs(engine, { ...request, hashes, turn: id });
  // A caller that erases again learns no more than a reader.
  const blobs = reports.map((blob) => (gone.has(blob.hash) ? { ...blob, hash: NO_HASH } : blob));
  return { turn: id, erased: blobs.every(({ erased }) => erased), blobs };
}

/**
 * Reads the hashes from the records, which also tell what was erased: an unfinished attempt may have left parts behind.
 */
async function hashesOf(engine: Engine, turn: TurnId): Promise<Hash[]> {
  const { records } = engine.upkeep;
  const hashes = new Set<Hash>();
  for (const entry of await records.turns(turn, 1)) {
    if (entry.gone !== true && entry.row.payload !== undefined) hashes.add(entry.row.payload);
  }
  for (const { seq, tombstone } of await engine.getPatches([turn])) {
    const [entry] = tombstone ? [] : await records.patches(seq, 1);
    if (entry !== undefined && 'patch' in entry) hashes.add(entry.patch.payload);
  }
  return [...hashes];
}
