import { setImmediate } from 'node:timers/promises';
import { NO_TURN, toContextId, toTurnId } from '../../src/base/brand.ts';
import type { ContextId, Hash } from '../../src/base/brand.ts';
import { hashBytes } from '../../src/base/hash.ts';
import { cutPoint, LARGE_BLOB_BYTES } from '../../src/format/chunker.ts';
import { readCheckpoint } from '../../src/engine/files/journal/checkpoint-file.ts';
import { packFile, scanPack } from '../../src/engine/files/packs/pack-file.ts';
import { StoreFiles } from '../../src/engine/files/disk/store-files.ts';
import type { Batch } from '../../src/engine/batch.ts';
import type { Engine } from '../../src/engine/engine.ts';
import type { GcReport } from '../../src/maintain/collect-garbage.ts';
import { collectGarbage } from '../../src/maintain/collect-garbage.ts';
import { rootSources } from '../../src/store/root-sources.ts';
import { MemoryIo } from '../../src/testing/disk/memory-io.ts';
import { SeededRandom } from '../../src/testing/disk/seeded-random.ts';
import {
  append,
  appendBatch,
  blobOf,
  createContext,
  patchTurn,
  present,
} from '../../src/testing/engine-suite/fixture.ts';
import { openStore, STORE } from '../crash/open-store.ts';
import { CHECK_TIME } from '../crash/oracle.ts';

// A store with garbage in several packs, and what must be true of it while and after it is collected.

/** The context that stays; its chain begins with these. */
const KEPT: ContextId = toContextId(1);
const KEPT_TEXTS: readonly string[] = ['kept, first', 'kept '.repeat(40), large(1), 'kept, last'];
const PATCHES: readonly string[] = ['patched once', 'patched again'];

const DEAD_TEXTS: readonly string[] = ['dead one', 'dead '.repeat(40), large(2), large(3)];
const REVIVED_TEXT = 'dead, and then wanted again';

/** Added to the chain while garbage is collected; two of them are garbage until then. */
const ADDED_TEXTS: readonly string[] = ['new', REVIVED_TEXT, large(3), 'newest'];
const ADDED: readonly Batch[] = ADDED_TEXTS.map((text) => appendBatch(KEPT, text));

/** Turns of the event loop between two commits: some come early in a collection, some late. */
const PAUSE_TURNS = 3;

/** What happened so far: a commit was sent or acknowledged. */
export type Step = 'sent' | 'acked';

export interface Facts {
  readonly steps: readonly Step[];
  /** Copies that no frame names could not be removed, because nothing worked. */
  readonly leftovers?: boolean;
}

/** Stored in chunks, and hard to compress. */
export function large(seed: number): string {
  const random = new SeededRandom(seed);
  return Array.from({ length: 33_000 }, () => random.bits().toString(36).padStart(8, '0')).join('');
}

export async function makeGarbage(): Promise<MemoryIo> {
  const disk = new MemoryIo();
  const engine = await openStore(disk, () => 1000);
  await createContext(engine);
  for (const text of KEPT_TEXTS.slice(0, 2)) await append(engine, KEPT, text);
  await leaveContext(engine, ['collected', large(4)], NO_TURN);
  await collect(engine);
  // Side by side, so that each goes to a pack of its own: one is dead as a whole, the others in part.
  await Promise.all([
    append(engine, KEPT, present(KEPT_TEXTS[2])),
    engine.putBlob({ chunks: once(blobOf(large(5)).bytes) }),
    engine.putBlob({ chunks: once(blobOf(large(6)).bytes) }),
  ]);
  await append(engine, KEPT, present(KEPT_TEXTS[3]));
  for (const text of PATCHES) await patchTurn(engine, toTurnId(1), text);
  await leaveContext(engine, DEAD_TEXTS.slice(0, 3), NO_TURN);
  await collect(engine, { dryRun: true });
  await leaveContext(engine, [...DEAD_TEXTS.slice(3), REVIVED_TEXT], toTurnId(2));
  await engine.commit({ blobs: [blobOf('loose')] });
  await engine.close();
  return disk.copy();
}

/** A context that is used and removed. */
async function leaveContext(engine: Engine, texts: readonly string[], base: bigint): Promise<void> {
  const { id } = await createContext(engine, base === NO_TURN ? {} : { base: toTurnId(base) });
  for (const text of texts) {
    const { id: turn } = await append(engine, id, text);
    await patchTurn(engine, turn, `a patch over ${text.slice(0, 20)}`);
  }
  await engine.commit({ contexts: [{ do: 'remove', context: id }] });
}

export function collect(engine: Engine, options: { dryRun?: boolean } = {}): Promise<GcReport> {
  return collectGarbage(engine, rootSources(engine), { graceMs: 0, all: true, ...options });
}

/** Commits one after the other while garbage is collected; resolves when both have ended. */
export async function collectBesideCommits(
  engine: Engine,
  note: (step: Step) => void,
): Promise<void> {
  const commits = async (): Promise<void> => {
    for (const batch of ADDED) {
      for (let turns = 0; turns < PAUSE_TURNS; turns += 1) await setImmediate();
      note('sent');
      await engine.commit(batch);
      note('acked');
    }
  };
  const ends = await Promise.allSettled([collect(engine), commits()]);
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}

/** Throws unless the chain has all that was acknowledged, nothing that was not sent, every byte right. */
export async function checkLiving(engine: Engine, steps: readonly Step[]): Promise<void> {
  const head = await engine.getHead(KEPT);
  const turns = head === undefined ? [] : await engine.walkBack(head.head, 100);
  const texts: string[] = [];
  for (const { payload } of turns.toReversed()) texts.push(await readText(engine, payload));
  const added = texts.length - KEPT_TEXTS.length;
  const acked = steps.filter((step) => step === 'acked').length;
  const sent = steps.filter((step) => step === 'sent').length;
  if (added < acked || added > sent) throw new Error(`${added} of ${acked} to ${sent} were kept`);
  const wanted = [...KEPT_TEXTS, ...ADDED_TEXTS].slice(0, texts.length);
  const wrong = texts.findIndex((text, at) => text !== wanted[at]);
  if (wrong !== -1) throw new Error(`turn ${wrong} of the chain has another payload`);
  const patches = await engine.getPatches([toTurnId(1)]);
  for (const [at, { payload }] of patches.entries()) {
    if ((await readText(engine, payload)) !== PATCHES[at]) throw new Error(`patch ${at} is wrong`);
  }
  if (patches.length !== PATCHES.length) throw new Error('patches are missing');
  const { damage } = await engine.stats();
  if (damage.length > 0) throw new Error(`reports damage: ${JSON.stringify(damage)}`);
}

async function readText(
  engine: Engine,
  hash: Parameters<Engine['getBlob']>[0] | undefined,
): Promise<string> {
  const bytes = hash === undefined ? undefined : await engine.getBlob(hash);
  if (bytes === undefined) throw new Error(`payload ${hash} is missing`);
  return new TextDecoder().decode(bytes);
}

/** Collects once more and throws unless all garbage is gone then, from the disk, too. */
export async function checkFinishing(engine: Engine, disk: MemoryIo, facts: Facts): Promise<void> {
  await collect(engine);
  await checkLiving(engine, facts.steps);
  const left = await collect(engine, { dryRun: true });
  if (left.deadBlobs > 0) throw new Error(`${left.deadBlobs} dead blobs stay`);
  const { blobs } = await engine.stats();
  if (left.liveBlobs !== blobs) throw new Error(`${blobs} blobs, and ${left.liveBlobs} are alive`);
  await engine.checkpoint();
  await checkPacks(disk, facts);
}

/** Every record in a pack is alive and there once. What lies behind the end of a pack does not count. */
async function checkPacks(disk: MemoryIo, { steps, leftovers }: Facts): Promise<void> {
  const sent = steps.filter((step) => step === 'sent').length;
  const texts = [...KEPT_TEXTS, ...PATCHES, ...ADDED_TEXTS.slice(0, sent)];
  const wanted = new Set(texts.flatMap(hashesOf));
  const { body } = await readCheckpoint(new StoreFiles(disk.copy(), STORE));
  for (const path of packPaths(disk)) {
    const open = body.tails.packs.find(({ number }) => path.endsWith(packFile(number)));
    const bytes = disk.contentOf(path)?.toBytes() ?? new Uint8Array();
    const items = [...scanPack(bytes.subarray(0, open?.length ?? bytes.length), 0)];
    // A disk that failed may have kept a pack from getting its header: that holds nothing.
    if (items[0]?.kind !== 'header') continue;
    if (leftovers === true && open === undefined && items.at(-1)?.kind !== 'end') continue;
    const hashes = items.flatMap((item) => (item.kind === 'blob' ? item.hash : []));
    if (hashes.length === 0) throw new Error(`${path} is there for nothing`);
    const garbage = hashes.filter((hash) => !wanted.delete(hash));
    if (garbage.length > 0) throw new Error(`${garbage.length} records of ${path} are garbage`);
  }
}

/** The blobs that a text is stored as. */
function hashesOf(text: string): Hash[] {
  const { hash, bytes } = blobOf(text);
  const hashes = [hash];
  if (bytes.length < LARGE_BLOB_BYTES) return hashes;
  for (let at = 0; at < bytes.length;) {
    const end = cutPoint(bytes, at, bytes.length);
    hashes.push(hashBytes(bytes.subarray(at, end)));
    at = end;
  }
  return hashes;
}

function packPaths(disk: MemoryIo): string[] {
  return disk.paths().filter((path) => path.endsWith('.pack'));
}

export function packSizes(disk: MemoryIo): number[] {
  return packPaths(disk).map((path) => disk.contentOf(path)?.length ?? 0);
}

/** Everything that can be said of a store once a collection was interrupted, now or by a crash. */
export async function checkAfter(
  disk: MemoryIo,
  facts: Facts,
  recovered: () => void = () => undefined,
): Promise<void> {
  const engine = await openStore(disk, () => CHECK_TIME);
  recovered();
  await checkLiving(engine, facts.steps);
  await assertClean(engine);
  await checkFinishing(engine, disk, facts);
  await engine.close();
}

export async function assertClean(engine: Engine): Promise<void> {
  const { problems } = await engine.upkeep.check({ repair: false });
  if (problems.length > 0) throw new Error(`verify finds ${JSON.stringify(problems.slice(0, 3))}`);
}

export { STORE };

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
