import { toContextId, toTurnId } from '../../src/base/brand.ts';
import { isQuipuError } from '../../src/base/errors.ts';
import { restoreStore } from '../../src/engine/files/backup/backup-store.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { createStore } from '../../src/store/create-store.ts';
import { MemoryIo } from '../../src/testing/disk/memory-io.ts';
import { append, appendLines, putDoc } from '../../src/testing/engine-suite/fixture.ts';
import { readText } from '../crash/read-text.ts';
import { buildSample, openSample, readEverything, ROOT } from '../health/sample-store.ts';
import { Dice, type Files, forgerOf } from './forge.ts';

// A store, or a backup of it, in which one file says something else than was written, with right checksums. Whatever is
// done with it then ends well or with an error of Quipu, stays in its folders, and takes little room and memory.

const COPY = '/data/copy';
const AGAIN = '/data/again';
/** The store itself takes less than one. A repair may add a little. */
const DISK_BYTES_MAX = 16 * 1024 * 1024;
const READ_BYTES_MAX = 8 * 1024 * 1024;

export interface Scene {
  readonly root: string;
  readonly disk: MemoryIo;
  /** Names of files to forge, below the root. */
  readonly names: readonly string[];
}

/** A store that was killed, one that was closed, and the backup of that one. */
export async function makeScenes(): Promise<readonly Scene[]> {
  const { engine, disk } = await buildSample();
  await addMore(engine);
  const killed = disk.copy();
  await engine.upkeep.backup(COPY);
  await engine.close();
  const closed = disk.copy();
  return [
    { root: ROOT, disk: killed, names: namesIn(killed, ROOT) },
    { root: ROOT, disk: closed, names: namesIn(closed, ROOT) },
    { root: COPY, disk: closed, names: namesIn(closed, COPY) },
  ];
}

/** What the sample lacks: a moved head, a document kept as differences, turns that were collected. */
async function addMore(engine: Engine): Promise<void> {
  const store = createStore(engine);
  await store.contexts.moveHead(toContextId(2), toTurnId(21));
  for (const n of [1, 2, 3]) {
    const content = JSON.stringify({
      text: 'long enough to be kept as a difference '.repeat(40),
      n,
    });
    await engine.commit({ docs: [{ name: 'out/differs.json', content, publish: true }] });
  }
  await store.maintain.gc();
}

function namesIn(disk: MemoryIo, root: string): string[] {
  return [...filesIn(disk, root).keys()].filter((name) => forgerOf(name) !== undefined);
}

export function filesIn(disk: MemoryIo, root: string): Files {
  const files: Files = new Map();
  for (const path of disk.paths()) {
    if (`/${path}`.startsWith(`${root}/`))
      files.set(path.slice(root.length), contentOf(disk, path));
  }
  return files;
}

function contentOf(disk: MemoryIo, path: string): Buffer {
  const content = disk.contentOf(`/${path}`);
  const bytes = Buffer.alloc(content?.length ?? 0);
  content?.read(bytes, 0);
  return bytes;
}

/**
 * Forges one file as the rolls say, and does everything with the store. Returns the name of the file. Throws when
 * something must not be.
 */
export async function meetForged(
  scenes: readonly Scene[],
  at: number,
  rolls: readonly number[],
): Promise<string> {
  const dice = new Dice(rolls);
  const { root, disk, names } = scenes[at % scenes.length] as Scene;
  const name = dice.pick(names);
  const files = filesIn(disk, root);
  forgerOf(name)?.(files, name, dice);
  const all = new Map(disk.paths().map((path) => [path, contentOf(disk, path)]));
  for (const [path, bytes] of files) all.set(`${root.slice(1)}/${path}`, bytes);
  const forged = watched(MemoryIo.from(all));
  const use = root === COPY ? useBackup(forged) : useStore(forged);
  try {
    await use;
    assertInside(forged);
    return name;
  } catch (error) {
    throw new Error(`${root}/${name}: ${(error as Error).message}`, { cause: error });
  }
}

/** A disk that refuses reads into more memory than any file of the scene takes. */
function watched(disk: MemoryIo): MemoryIo {
  const open = disk.open.bind(disk);
  disk.open = async (path, mode) => {
    const file = await open(path, mode);
    const read = file.read.bind(file);
    file.read = (into, position) => {
      if (into.length > READ_BYTES_MAX) throw new RangeError(`reads ${into.length} bytes`);
      return read(into, position);
    };
    return file;
  };
  return disk;
}

function assertInside(disk: MemoryIo): void {
  let bytes = 0;
  for (const path of disk.paths()) {
    if (!/^data\/(?:store|copy|again)\//.test(path)) throw new Error(`${path} was written`);
    bytes += disk.contentOf(`/${path}`)?.length ?? 0;
  }
  if (bytes > DISK_BYTES_MAX) throw new Error(`the disk has ${bytes} bytes`);
}

/** Goes on after an error of Quipu, which is an answer. Any other error is none. */
export async function attempt(what: string, work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (isQuipuError(error) && error.message !== '') return;
    throw new Error(`${what}: ${String((error as Error).stack)}`, { cause: error });
  }
}

/** Twice, because what an opening or a repair leaves is a store as well. */
async function useStore(disk: MemoryIo): Promise<void> {
  for (const backup of [true, false]) {
    await attempt('open', async () => live((await openSample(disk)).engine, backup));
  }
}

async function live(engine: Engine, backup: boolean): Promise<void> {
  const store = createStore(engine, { clock: () => 1_700_000_100_000 });
  await attempt('read', () => readEverything(engine));
  await attempt('read all', () => readText(engine));
  await attempt('stats', () => store.maintain.stats());
  await attempt('list', () => store.contexts.list({}));
  for (const id of [1, 2, 4, 5]) {
    await attempt('last', () => store.contexts.last(toContextId(id), 50));
    await attempt('get', () => store.contexts.get(toContextId(id)));
  }
  await attempt('salvage', () => engine.salvageLog('logs/events', 0, 50));
  await attempt('verify', () => store.maintain.verify());
  await attempt('append', () => append(engine, toContextId(1), 'more'));
  await attempt('document', () => putDoc(engine, 'settings.json', '{"a":3}'));
  await attempt('lines', () => appendLines(engine, 'logs/events', '"more"'));
  await attempt('collect', () => store.maintain.gc({ graceMs: 0 }));
  if (backup) await attempt('backup', () => engine.upkeep.backup(COPY));
  await attempt('repair', () => store.maintain.verify({ repair: true }));
  await attempt('reindex', () => store.maintain.reindex());
  await attempt('close', () => store.close());
}

async function useBackup(disk: MemoryIo): Promise<void> {
  await attempt('restore', () => restoreStore(disk, COPY, AGAIN));
  const { engine } = await openSample(disk);
  await attempt('backup', () => engine.upkeep.backup(COPY));
  await engine.close();
}
