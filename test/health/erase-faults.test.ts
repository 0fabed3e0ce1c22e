import { describe, expect, it } from 'vitest';
import { isQuipuError } from '../../src/base/errors.ts';
import { mapShelves } from '../../src/testing/map-shelves.ts';
import { openFilesEngine } from '../../src/engine/files/open-files-engine.ts';
import type { Io } from '../../src/engine/io.ts';
import { BlobCodec, decodeBlobHeader } from '../../src/format/blob-record.ts';
import { createStore } from '../../src/store/create-store.ts';
import type { Store } from '../../src/store/store.ts';
import { crashImages } from '../../src/testing/disk/crash-states.ts';
import { exploreCrashes } from '../../src/testing/disk/explore-crashes.ts';
import { FaultIo } from '../../src/testing/disk/fault-io.ts';
import { type FaultPlan, planFaults } from '../../src/testing/disk/fault-plan.ts';
import { MemoryIo } from '../../src/testing/disk/memory-io.ts';
import { lyingIo } from '../crash/lying-io.ts';
import { openStore, STORE } from '../crash/open-store.ts';
import { CHECK_TIME } from '../crash/oracle.ts';
import { ProcessIo } from '../crash/process-io.ts';
import {
  checkErased,
  eraseAll,
  fillSecrets,
  findTexts,
  type SecretStore,
} from '../../src/testing/health-suite/erase-scene.ts';
import type { Files } from '../../src/testing/health-suite/find-bytes.ts';

/*
 * Invariant: whatever fails while blobs are erased, and whatever a power cut leaves after it, an erasure
 * that was acknowledged has left the bytes in no file; and one that was not can be made again. The same
 * is true of backups that are made then, into a folder that had the bytes as well as into a new one.
 */

const OLD_COPY = '/old';
const NEW_COPY = '/new';
/** Errors that say that nothing more is acknowledged until the store is opened again. */
const HONEST = ['IO', 'DISK_FULL', 'READ_ONLY'] as const;

async function openOn(io: Io, clock: () => number): Promise<Store> {
  return createStore(await openStore(io, clock), { clock });
}

function filesBelow(disk: MemoryIo, folder: string): Files {
  return disk
    .paths()
    .filter((path) => `/${path}`.includes(`${folder}/`))
    .map((path) => [path, disk.contentOf(path)?.toBytes() ?? new Uint8Array()]);
}

/** A store with secrets, all of them small, and a backup that has them, too. */
async function makeSecrets(): Promise<{ start: MemoryIo; scene: SecretStore }> {
  const disk = new MemoryIo();
  const store = await openOn(disk, () => 1000);
  const scene = await fillSecrets(store, []);
  await store.maintain.backup(OLD_COPY);
  await store.close();
  return { start: disk.copy(), scene };
}

const { start, scene } = await makeSecrets();

async function checkOpened(disk: MemoryIo, erased: readonly string[]): Promise<void> {
  const store = await openOn(disk, () => CHECK_TIME);
  await checkErased(store, scene, { files: filesBelow(disk, STORE), erased });
  await store.close();
}

async function failOnce(plan: FaultPlan): Promise<boolean> {
  const disk = start.copy();
  const io = new FaultIo(disk, plan);
  const process = new ProcessIo(io);
  const erased: string[] = [];
  const store = await openOn(process, () => 2000);
  const error = await failureOf(eraseAll(store, scene.secrets, (name) => erased.push(name)));
  expect(error === undefined || HONEST.some((code) => isQuipuError(error, code))).toBe(true);
  io.heal();
  assertGone(disk, erased);
  const again = await failureOf(eraseAll(store, scene.secrets, (name) => erased.push(name)));
  if (again !== undefined) expectUnknown(again);
  assertGone(disk, erased);
  await process.kill();
  for (const { disk: left } of crashImages(disk.snapshot(), 1, plan.at)) {
    await checkOpened(left, erased);
  }
  return error !== undefined;
}

function assertGone(disk: MemoryIo, erased: readonly string[]): void {
  const texts = scene.secrets.filter(({ name }) => erased.includes(name)).flatMap((it) => it.texts);
  const found = findTexts(filesBelow(disk, STORE), texts);
  if (found.length > 0) throw new Error(`what was erased is left: ${found.join()}`);
}

/** After a failed sync a store says so to everyone, until it is opened again. */
function expectUnknown(error: unknown): void {
  expect(isQuipuError(error, 'IO') && error.data.outcome).toBe('unknown');
}

async function failureOf(work: Promise<void>): Promise<unknown> {
  return work.then(
    () => undefined,
    (error: unknown) => error,
  );
}

function cutPower(wrap: (io: Io) => Io): Promise<unknown> {
  return exploreCrashes<string>({
    seed: 4,
    statesPerPoint: 2,
    start,
    async run(disk, note) {
      const store = await openOn(wrap(disk), () => 2000);
      await eraseAll(store, scene.secrets, note);
    },
    check: (disk, erased) => checkOpened(disk, erased),
  });
}

describe('erasing', () => {
  it('keeps its promises when operations fail', { timeout: 120_000 }, async () => {
    const watched = new FaultIo(start.copy());
    const store = await openOn(watched, () => 2000);
    const opened = watched.trace.length;
    await eraseAll(store, scene.secrets);
    const plans = planFaults(watched.trace).filter(({ at }) => at > opened);
    let failed = 0;
    for (const [index, plan] of plans.entries()) {
      if (index % 47 !== 0) continue;
      try {
        failed += (await failOnce(plan)) ? 1 : 0;
      } catch (error) {
        throw new Error(`${plan.kind} ${plan.times} at ${plan.at}: ${String(error)}`, {
          cause: error,
        });
      }
    }
    expect(failed).toBeGreaterThan(10);
  });

  it('also takes what a repair set aside', async () => {
    const disk = start.copy();
    const texts = scene.secrets.flatMap((secret) => secret.texts);
    const store = await openOn(disk, () => 2000);
    await damage(disk, texts);
    expect((await store.maintain.verify({ repair: true })).quarantined.length).toBeGreaterThan(1);
    const isAside = (): string[] => findTexts(filesBelow(disk, `${STORE}/quarantine`), texts);
    expect(isAside()).not.toEqual([]);
    await eraseAll(store, scene.secrets);
    expect(isAside()).toEqual([]);
    expect(findTexts(filesBelow(disk, STORE), texts)).toEqual([]);
    await store.close();
  });

  it('is finished in backups that are made after it was interrupted', async () => {
    let checked = 0;
    await exploreCrashes<string>({
      seed: 8,
      statesPerPoint: 1,
      start,
      async run(disk, note) {
        const store = await openOn(disk, () => 2000);
        await eraseAll(store, scene.secrets.slice(0, 2), note);
      },
      async check(disk) {
        checked += 1;
        if (checked % 6 !== 0) return;
        const store = await openOn(disk, () => CHECK_TIME);
        const gone: string[] = [];
        for (const { texts } of scene.secrets) {
          for (const text of texts) {
            if (findTexts(filesBelow(disk, STORE), [text]).length === 0) gone.push(text);
          }
        }
        for (const copy of [OLD_COPY, NEW_COPY]) {
          await store.maintain.backup(copy);
          const found = findTexts(filesBelow(disk, copy), gone);
          if (found.length > 0) throw new Error(`a backup has what was erased: ${found.join()}`);
          await checkCopy(disk, copy, gone);
        }
        await store.close();
      },
    });
    expect(checked).toBeGreaterThan(30);
  });
});

/** Changes the last byte of these texts wherever they stand in a pack as they are. */
async function damage(disk: MemoryIo, texts: readonly string[]): Promise<void> {
  for (const [path, bytes] of filesBelow(disk, STORE)) {
    if (!path.endsWith('.pack')) continue;
    const file = await disk.open(`/${path}`, 'write');
    for (const text of texts) {
      const at = Buffer.from(bytes).indexOf(text);
      if (at !== -1) await file.write(Buffer.from('!'), at + text.length - 1);
    }
    await file.close();
  }
}

async function checkCopy(disk: MemoryIo, copy: string, gone: readonly string[]): Promise<void> {
  const shelves = mapShelves();
  const clock = (): number => CHECK_TIME;
  const opened = createStore(await openFilesEngine(copy, { io: disk, shelves, clock }), { clock });
  const { ok } = await opened.maintain.verify();
  await opened.close();
  const found = findTexts(filesBelow(disk, copy), gone);
  if (!ok || found.length > 0) throw new Error(`the backup is not right: ${found.join()}`);
}

/** Records that are overwritten reach their pack after its next sync. */
function withLateOverwrites(io: Io): Io {
  const late = new Map<string, { bytes: Uint8Array; position: number }[]>();
  return lyingIo(io, {
    write: async (file, path, { bytes, position }) => {
      const isErased = decodeBlobHeader(bytes)?.codec === BlobCodec.erased;
      if (!path.endsWith('.pack') || !isErased) return file.write(bytes, position);
      late.set(path, [...(late.get(path) ?? []), { bytes: Buffer.from(bytes), position }]);
      return bytes.length;
    },
    sync: async (file, path) => {
      await file.sync();
      for (const { bytes, position } of late.get(path) ?? []) await file.write(bytes, position);
      late.delete(path);
    },
  });
}

describe('the rig finds an erasure that', () => {
  const isJournal = (path: string): boolean => path.endsWith('.wal');

  it('leaves the journal as it is', async () => {
    const disk = new MemoryIo();
    const io = lyingIo(disk, {
      write: async (file, path, { bytes, position }) => {
        const scrubs = isJournal(path) && bytes.every((byte) => byte === 0);
        return scrubs ? bytes.length : file.write(bytes, position);
      },
    });
    // Long segments: in short ones the next frames come to lie over the secrets.
    const clock = (): number => 2000;
    const store = createStore(await openStore(io, clock, 1024 * 1024), { clock });
    const filled = await fillSecrets(store, []);
    const erased: string[] = [];
    await eraseAll(store, filled.secrets, (name) => erased.push(name));
    const given = { files: filesBelow(disk, STORE), erased };
    await expect(checkErased(store, filled, given)).rejects.toThrow(/is left/);
  });

  it('syncs before it has written over the records, and not after', async () => {
    await expect(cutPower(withLateOverwrites)).rejects.toThrow(/is left|can still be read/);
  });

  it('is not there at all', async () => {
    const disk = start.copy();
    const store = await openOn(disk, () => 2000);
    const erased = scene.secrets.map(({ name }) => name);
    await expect(
      checkErased(store, scene, { files: filesBelow(disk, STORE), erased }),
    ).rejects.toThrow(/can still be read/);
  });
});
