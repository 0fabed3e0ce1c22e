/**
 * Invariant: a task whose adding was acknowledged is pending, running or failed until its success, whatever is cut or
 * refused, and its record is whole. It may be there after its success, too: then it runs again. A task whose adding was
 * not acknowledged is there whole or not at all.
 *
 * Method: one script of everything a spool does, ended at every operation by a power cut, after which each choice of the
 * changes that were not synced survives; or with one operation refused, after which the script goes on.
 */
import { describe, expect, it } from 'vitest';
import { Spool } from '../../src/notifier/spool/spool.ts';
import type { SpoolIo } from '../../src/notifier/spool/spool.ts';
import type { Failure, NewTask } from '../../src/notifier/spool/records.ts';
import { CutDisk, DiskFault } from './cut-disk.ts';

const HOME = '/spool';
const FAILURE: Failure = {
  reason: 'exit',
  exitCode: 3,
  signal: null,
  output: 'no such file\n',
  omittedBytes: 0,
  startedAt: 1,
  endedAt: 2,
  runId: 'r',
};

function task(id: string, command = 'true'): NewTask {
  return { id, author: 'me', command, cwd: '/', env: { A: 'b' } };
}

/** What must be there: acknowledged, and its success not even tried. */
class Ledger {
  readonly owed = new Set<string>();
  readonly #forgiving: boolean;

  constructor(forgiving: boolean) {
    this.#forgiving = forgiving;
  }

  /** One step of the script. A power cut ends it, a refusal only the step. */
  async step(work: () => Promise<unknown>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (error) {
      if (!(error instanceof DiskFault) || !this.#forgiving) throw error;
      return false;
    }
  }
}

/** Adds `a` and `b`; `a` runs, is added again meanwhile, and succeeds; `b` fails, is tried again and removed. */
async function play(spool: Spool, ledger: Ledger): Promise<void> {
  const { owed } = ledger;
  if (await ledger.step(() => spool.add(task('a', 'first')))) owed.add('first');
  if (await ledger.step(() => spool.add(task('b', 'second')))) owed.add('second');
  const claimed = await ledger.step(() => spool.claim('a'));
  const again = claimed && (await ledger.step(() => spool.add(task('a', 'third'))));
  if (again) owed.add('third');
  owed.delete('first');
  await ledger.step(() => spool.noteRun('a', { runId: 'r', pid: 2, startedAt: 1 }));
  await ledger.step(() => spool.succeed('a'));
  const b = (await ledger.step(() => spool.claim('b'))) && (await spool.getTask('running', 'b'));
  if (b) await ledger.step(() => spool.fail(b, FAILURE));
  await ledger.step(() => spool.retry('b'));
  await ledger.step(() => spool.sweep());
}

/** The commands of all tasks that the next daemon would find or show. */
async function commandsIn(disk: SpoolIo): Promise<string[]> {
  const spool = new Spool(HOME, disk, () => 0);
  const found: string[] = [];
  for (const id of await spool.listIds('running'))
    found.push((await spool.reclaim(id))?.command ?? '?');
  for (const id of await spool.listIds('pending'))
    found.push((await spool.claim(id))?.command ?? '?');
  for (const id of await spool.listIds('error'))
    found.push((await spool.getFailed(id))?.command ?? '?');
  return found;
}

async function cutEverywhere(toSpool: (disk: SpoolIo) => Spool): Promise<string[]> {
  const broken: string[] = [];
  for (let failAt = 0; ; failAt += 1) {
    const disk = new CutDisk({ failAt, isCut: true });
    const ledger = new Ledger(false);
    const whole = await play(toSpool(disk), ledger).then(
      () => true,
      (error: unknown) => {
        if (!(error instanceof DiskFault)) throw error;
        return false;
      },
    );
    for (let mask = 0; mask < 64; mask += 1) {
      const found = await commandsIn(disk.restart((index) => ((mask >> (index % 6)) & 1) === 1));
      const lost = [...ledger.owed].filter((command) => !found.includes(command));
      if (lost.length > 0 || found.includes('?')) broken.push(`${failAt}/${mask}: ${lost.join()}`);
    }
    if (whole) return broken;
  }
}

describe('a spool', () => {
  it(
    'keeps what it acknowledged through a power cut at any point',
    { timeout: 60_000 },
    async () => {
      expect(await cutEverywhere((disk) => new Spool(HOME, disk, () => 0))).toEqual([]);
    },
  );

  it(
    'would be caught without the sync of a folder, or of a file',
    { timeout: 60_000 },
    async () => {
      const noFolder = (disk: SpoolIo): SpoolIo => ({
        ...bind(disk),
        syncFolder: async () => undefined,
      });
      const noFile = (disk: SpoolIo): SpoolIo => ({
        ...bind(disk),
        writeSynced: (...words) => disk.writeSoon(...words),
      });
      for (const weaken of [noFolder, noFile]) {
        expect(await cutEverywhere((disk) => new Spool(HOME, weaken(disk), () => 0))).not.toEqual(
          [],
        );
      }
    },
  );

  it('keeps what it acknowledged when any one operation is refused', async () => {
    for (let failAt = 0; ; failAt += 1) {
      const disk = new CutDisk({ failAt });
      const ledger = new Ledger(true);
      await play(new Spool(HOME, disk, () => 0), ledger).catch((error: unknown) => {
        if (!(error instanceof DiskFault)) throw error;
      });
      if (disk.operations <= failAt) break;
      const found = await commandsIn(disk);
      expect([...ledger.owed].filter((command) => !found.includes(command))).toEqual([]);
      expect(found).not.toContain('?');
    }
  });

  it('sets aside what cannot be read, and goes on', async () => {
    const disk = new CutDisk();
    await disk.writeSynced(`${HOME}/pending/x.json`, '{"id":"x"');
    await disk.writeSynced(`${HOME}/pending/y.json`, JSON.stringify({ ...task('z'), addedAt: 0 }));
    const spool = new Spool(HOME, disk, () => 0);
    expect([await spool.claim('x'), await spool.claim('y')]).toEqual([undefined, undefined]);
    expect(await spool.countOf('damaged')).toBe(2);
    expect(await spool.countOf('pending')).toBe(0);
  });
});

function bind(disk: SpoolIo): SpoolIo {
  return {
    writeSynced: (path, text) => disk.writeSynced(path, text),
    writeSoon: (path, text) => disk.writeSoon(path, text),
    link: (from, to) => disk.link(from, to),
    rename: (from, to) => disk.rename(from, to),
    remove: (path) => disk.remove(path),
    syncFolder: (path) => disk.syncFolder(path),
    read: (path) => disk.read(path),
    writtenAt: (path) => disk.writtenAt(path),
    list: (path) => disk.list(path),
  };
}
