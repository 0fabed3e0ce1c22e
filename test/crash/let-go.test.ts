import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { SqliteError } from '../../src/base/sqlite.ts';
import { describe, expect, it } from 'vitest';
import { toContextId } from '../../src/base/brand.ts';
import { QuipuError } from '../../src/base/errors.ts';
import type { Engine } from '../../src/engine/engine.ts';
import type { ShelfSource, Shelf } from '../../src/engine/files/index/shelf.ts';
import { sqliteShelves } from '../../src/engine/files/index/sqlite-shelf.ts';
import { INDEX_FILE } from '../../src/engine/files/index/store-index.ts';
import { nodeIo } from '../../src/engine/files/disk/node-io.ts';
import { openFilesEngine } from '../../src/engine/files/open-files-engine.ts';
import type { Io } from '../../src/engine/io.ts';
import { FaultIo } from '../../src/testing/disk/fault-io.ts';
import { planFaults } from '../../src/testing/disk/fault-plan.ts';
import { describeOperation } from '../../src/testing/disk/operation.ts';
import { appendBatch } from '../../src/testing/engine-suite/fixture.ts';
import { freshFolder } from '../../src/testing/fresh-folder.ts';

/*
 * Invariant: whichever operation fails while a store is opened, used and closed, in its files or in its index, the
 * process lets go of everything: the next opening finds nothing in its way, and every error has a code of ours.
 */

const CONTEXT = toContextId(1);

type Shelves = (path: string) => ShelfSource;

/** A folder in which a store was opened before, and left as a killed process leaves it. */
async function makeStore(): Promise<string> {
  const folder = freshFolder('quipu-let-go-');
  const engine = await open(folder);
  await engine.commit({ contexts: [{ do: 'create' }] });
  await engine.close();
  return folder;
}

function open(folder: string, io: Io = nodeIo, shelves: Shelves = sqliteShelves): Promise<Engine> {
  const index = shelves(join(folder, INDEX_FILE));
  return openFilesEngine(folder, {
    io,
    shelves: index,
    segmentBytes: 8192,
    checkpointMs: Infinity,
  });
}

const FDS = '/proc/self/fd';

/** What this process has open in the folder. */
function heldIn(folder: string): string[] {
  return readdirSync(FDS).flatMap((fd) => {
    try {
      const path = readlinkSync(join(FDS, fd));
      return path.startsWith(folder) ? [path] : [];
    } catch {
      return [];
    }
  });
}

async function live(folder: string, io: Io, shelves?: Shelves): Promise<void> {
  let engine: Engine | undefined;
  try {
    engine = await open(folder, io, shelves);
    await engine.commit(appendBatch(CONTEXT, 'one'));
    await engine.reindex?.();
    await engine.listContexts({ limit: 3 });
  } catch (error) {
    assertOurs(error);
  }
  await engine?.close().catch(assertOurs);
}

function assertOurs(error: unknown): void {
  if (!(error instanceof QuipuError)) throw error;
  if (/SQLITE/.test(JSON.stringify([error.message, error.data]))) throw error;
}

/** The next one to come; throws what is in its way. */
async function openAgain(folder: string, where: string): Promise<void> {
  try {
    expect(heldIn(folder).join()).toBe('');
    const engine = await open(folder);
    expect((await engine.listContexts({ limit: 3 })).rows).toHaveLength(1);
    await engine.commit(appendBatch(CONTEXT, 'again'));
    await engine.close();
  } catch (error) {
    throw new Error(`${String(error)}\nafter ${where}`, { cause: error });
  }
}

async function failOperations(shelves?: Shelves): Promise<number> {
  const folder = await makeStore();
  const clean = new FaultIo(nodeIo);
  await live(folder, clean, shelves);
  const plans = planFaults(clean.trace, ['EIO']).filter(({ times }) => times === 'once');
  for (const plan of plans) {
    const operation = clean.trace[plan.at - 1];
    if (operation === undefined) continue;
    await live(folder, new FaultIo(nodeIo, plan), shelves);
    await openAgain(folder, describeOperation(operation));
  }
  return plans.length;
}

/** From the `nth` change of the index on it cannot be changed; `code` is SQLite's reason. */
function failing(code: string, nth: number): Shelves {
  let left = nth;
  const wrap = (shelf: Shelf): Shelf =>
    new Proxy(shelf, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]): unknown => {
          if (name === 'apply' && left-- <= 0) throw new SqliteError('as a test wants it', code);
          return Reflect.apply(value, target, args) as unknown;
        };
      },
    });
  return (path) => {
    const real = sqliteShelves(path);
    return {
      open: () => wrap(real.open()),
      create: (inMemory) => wrap(real.create(inMemory)),
      install: (fresh, old) => wrap(real.install(fresh, old)),
    };
  };
}

describe.runIf(existsSync(FDS))('whatever fails, the process lets go', { timeout: 120_000 }, () => {
  it('of its files and its index, when an operation of the disk fails', async () => {
    expect(await failOperations()).toBeGreaterThan(60);
  });

  it('of its index, when that cannot be changed', async () => {
    const folder = await makeStore();
    for (const code of ['SQLITE_FULL', 'SQLITE_IOERR_WRITE', 'SQLITE_READONLY', 'SQLITE_CORRUPT']) {
      for (let nth = 0; nth < 6; nth += 1) {
        await live(folder, nodeIo, failing(code, nth));
        await openAgain(folder, `${code} at ${nth}`);
        expect(heldIn(folder)).toEqual([]);
      }
    }
  });

  it('would be noticed if it did not', async () => {
    const clinging: Shelves = (path) => {
      const real = sqliteShelves(path);
      const cling = (): Shelf => Object.assign(real.open(), { close: () => undefined });
      return { ...real, open: cling };
    };
    await expect(failOperations(clinging)).rejects.toThrow(/index\.db/);
  });
});
