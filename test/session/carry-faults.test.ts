import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { carryFolder, copyFile } from '../../src/session/files/carry-folder.ts';
import { artifactsFolderOf } from '../../src/session/files/session-names.ts';
import { makeFolders } from '../../src/session/files/write-file.ts';
import type { SessionsHome } from '../../src/session/records/registry.ts';
import { exploreCrashes } from '../../src/testing/disk/explore-crashes.ts';
import { FaultIo } from '../../src/testing/disk/fault-io.ts';
import { planFaults } from '../../src/testing/disk/fault-plan.ts';
import type { MemoryIo } from '../../src/testing/disk/memory-io.ts';
import type { Io } from '../../src/engine/io.ts';
import {
  NEW,
  OLD,
  checkForked,
  checkMoved,
  fork,
  move,
  startDisk,
  homeOf,
  type Act,
  type Fact,
} from './carry-scene.ts';

// Invariant: a move or a fork that is interrupted before any of its operations, by a crash or by a failure, leaves the
// session where it was or at the new place, whole, with all its artifacts; and whoever opens it next finds it.
// The store itself survives: what it was told before the crash it still knows.

type Check = (io: MemoryIo, facts: readonly Fact[]) => Promise<void>;

async function crash(act: Act, check: Check, wrap: (io: Io) => Io = (io) => io): Promise<number> {
  const count = await exploreCrashes<Fact>({
    seed: 7,
    statesPerPoint: 8,
    start: startDisk(),
    async run(disk, note) {
      await act(await homeOf(wrap(disk), [], note));
      note('done');
    },
    check: (disk, facts) => check(disk, facts),
  });
  return count.points;
}

async function fail(act: Act, check: Check): Promise<number> {
  const trial = new FaultIo(startDisk());
  await act(await homeOf(trial));
  const plans = planFaults(trial.trace, ['EIO', 'ENOSPC']);
  for (const plan of plans) {
    const disk = startDisk();
    const faulty = new FaultIo(disk, plan);
    const facts: Fact[] = [];
    try {
      const report = await act(await homeOf(faulty, [], (fact) => facts.push(fact)));
      // A fork goes on without artifacts that cannot be copied, and says so.
      if ((report as { warning?: string } | undefined)?.warning !== undefined) facts.push('bare');
      facts.push('done');
    } catch {
      // Expected: the disk failed. What matters is what it left.
    }
    const { name, path, detail } = trial.trace[plan.at - 1]!;
    const story = `${plan.kind} ${plan.times} at ${name} ${path} ${detail ?? ''}`;
    await check(disk.copy(), facts).catch((error: unknown) => {
      throw new Error(story, { cause: error });
    });
  }
  return plans.length;
}

const noDirSync = (io: Io): Io => {
  const lie = Object.create(io) as Io;
  lie.syncDir = async () => undefined;
  lie.open = (path, mode) => io.open(path, mode);
  for (const name of [
    'stat',
    'mkdir',
    'list',
    'rename',
    'link',
    'remove',
    'removeFolder',
    'lock',
  ] as const) {
    lie[name] = ((...args: never[]) =>
      (io[name] as (...given: never[]) => unknown)(...args)) as never;
  }
  return lie;
};

/** What one would write first: the file goes, then the artifacts follow. */
const naiveMove: Act = async ({ io, registry }: SessionsHome) => {
  await makeFolders(io, '/new');
  await copyFile({ io, path: OLD }, { io, path: NEW });
  await io.remove(OLD);
  await registry.put({ id: 'session-one', file: NEW });
  await carryFolder(io, artifactsFolderOf(OLD)!, artifactsFolderOf(NEW)!, { shares: () => true });
};

const naiveFork: Act = async ({ io, registry }: SessionsHome) => {
  const file = join('/new', basename(OLD).replace('one', 'two'));
  await makeFolders(io, '/new');
  await copyFile({ io, path: OLD }, { io, path: file });
  await registry.put({ id: 'session-two', file });
  await carryFolder(io, artifactsFolderOf(OLD)!, artifactsFolderOf(file)!, { shares: () => true });
};

describe('a move', () => {
  it('survives a crash before each of its operations', async () => {
    expect(await crash(move, checkMoved)).toBeGreaterThan(20);
  });

  it('survives a failure of each of its operations', async () => {
    expect(await fail(move, checkMoved)).toBeGreaterThan(100);
  });

  it('would be caught if it did not sync folders, or moved the file first', async () => {
    await expect(crash(move, checkMoved, noDirSync)).rejects.toThrow(/crash before/);
    await expect(crash(naiveMove, checkMoved)).rejects.toThrow(/crash before/);
    await expect(fail(naiveMove, checkMoved)).rejects.toThrow(/ at /);
  });
});

describe('a fork', () => {
  it('survives a crash before each of its operations', async () => {
    expect(await crash(fork, checkForked)).toBeGreaterThan(15);
  });

  it('survives a failure of each of its operations', async () => {
    expect(await fail(fork, checkForked)).toBeGreaterThan(50);
  });

  it('would be caught if its file came before its artifacts', async () => {
    await expect(crash(naiveFork, checkForked)).rejects.toThrow(/crash before/);
    await expect(fail(naiveFork, checkForked)).rejects.toThrow(/ at /);
  });
});
