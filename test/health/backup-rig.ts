import type { Io } from '../../src/engine/io.ts';
import type { Engine } from '../../src/engine/engine.ts';
import type { BackupReport } from '../../src/engine/upkeep.ts';
import { backupStore } from '../../src/engine/files/backup/backup-store.ts';
import { createFiles } from '../../src/engine/files/core/truths.ts';
import { type FilesEngine, filesEngine } from '../../src/engine/files/files-engine.ts';
import { openFilesEngine, openWriter } from '../../src/engine/files/open-files-engine.ts';
import { StoreFiles } from '../../src/engine/files/disk/store-files.ts';
import type { Writer } from '../../src/engine/files/commit/writer.ts';
import { SeededRandom } from '../../src/testing/disk/seeded-random.ts';
import { type Step, toBatch } from '../../src/testing/engine-suite/random-batch.ts';
import { mapShelves } from '../../src/testing/map-shelves.ts';
import { CHECK_TIME, Oracle } from '../crash/oracle.ts';
import { readText } from '../crash/read-text.ts';

export const STORE = '/disk/store';
export const COPY = '/disk/copy';
export const STORE_ID = '01JD00000000000000000000QP';

const KINDS = [
  'create',
  'describe',
  'remove',
  'append',
  'append',
  'append',
  'open',
  'delta',
] as const;
const MORE_KINDS = ['delta', 'seal', 'patch', 'log', 'log', 'doc', 'doc'] as const;
const ALL_KINDS = [...KINDS, ...MORE_KINDS];

/** A store with its writer at hand, which is where backups begin. */
export async function openLive(
  io: Io,
  clock: () => number,
  { path = STORE, id = STORE_ID }: { path?: string; id?: string } = {},
): Promise<{ writer: Writer; engine: FilesEngine }> {
  const files = new StoreFiles(io, path);
  if ((await io.stat(`${path}/FORMAT`)) === undefined) {
    await io.mkdir('/disk');
    await io.mkdir(path);
    const createdAt = new Date(0).toISOString();
    await createFiles(files, { store: id, createdAt, durability: 'safe' });
  }
  const writer = await openWriter(files, await io.lock(`${path}/lock.db`, 'test'), {
    segmentBytes: 16 * 1024,
    shelves: mapShelves(),
    cacheBytes: 1024 * 1024,
    clock,
    checkpointMs: Infinity,
    reserveBytes: 0,
  });
  return { writer, engine: filesEngine(writer) };
}

/** A store that random commits go to, and everything it ever showed. */
export class Life {
  readonly writer: Writer;
  readonly engine: FilesEngine;
  /** One text per commit, as the store would show itself when opened with its turns left open. */
  readonly history: string[];
  readonly #oracle: Oracle;
  readonly #random: SeededRandom;
  readonly #clock: { now: number };

  private constructor(opened: { writer: Writer; engine: FilesEngine }, life: LifeParts) {
    this.writer = opened.writer;
    this.engine = opened.engine;
    this.#oracle = life.oracle;
    this.#random = new SeededRandom(life.seed);
    this.#clock = life.clock;
    this.history = [...life.oracle.promised];
  }

  static async start(io: Io, seed: number): Promise<Life> {
    const clock = { now: 1000 };
    const oracle = await Oracle.create(
      () => undefined,
      () => clock.now,
    );
    const opened = await openLive(io, () => clock.now);
    const life = new Life(opened, { oracle, seed, clock });
    await life.#commit({ contexts: [{ do: 'create' }, { do: 'create' }] });
    return life;
  }

  get text(): string {
    return this.history.at(-1) ?? '';
  }

  async commit(count: number): Promise<void> {
    for (let made = 0; made < count;) {
      const sent = await this.#commit(toBatch(this.#oracle.newest, this.#draw()));
      if (sent) made += 1;
    }
  }

  async #commit(batch: Parameters<Engine['commit']>[0]): Promise<boolean> {
    this.#clock.now += this.#random.below(500);
    if (!(await this.#oracle.send(batch))) return false;
    const text = this.#oracle.promised.at(-1) ?? '';
    // Before it is acknowledged, because the copy may have it by then.
    this.history.push(text);
    await this.engine.commit(batch);
    this.#oracle.acknowledge();
    return true;
  }

  #draw(): Step & { do: 'commit' } {
    const random = this.#random;
    const draws = Array.from({ length: 1 + random.below(3) }, () => ({
      kind: ALL_KINDS[random.below(ALL_KINDS.length)] ?? 'append',
      at: random.below(100_000),
      how: random.below(100_000),
      text: `text ${random.below(1_000_000)}`,
    }));
    return { do: 'commit', draws, key: random.below(40) };
  }
}

interface LifeParts {
  readonly oracle: Oracle;
  readonly seed: number;
  readonly clock: { now: number };
}

export async function openCopy(io: Io, path: string = COPY): Promise<Engine> {
  return openFilesEngine(path, {
    io,
    clock: () => CHECK_TIME,
    shelves: mapShelves(),
    checkpointMs: Infinity,
    cacheBytes: 1024 * 1024,
    segmentBytes: 16 * 1024,
    // Its bytes mean nothing, and writing them took a third of the time of every look.
    reserveBytes: 0,
  });
}

/** All that a copy shows, every byte of it checked. */
export async function readCopy(io: Io, path: string = COPY): Promise<string> {
  const engine = await openCopy(io, path);
  const text = await readText(engine, true);
  const { damage } = await engine.stats();
  if (damage.length > 0) throw new Error(`the copy reports damage: ${JSON.stringify(damage)}`);
  await engine.close();
  return text;
}

/** Opens the store on `io` once more and backs it up. */
export async function backupAgain(io: Io, redoBytes?: number): Promise<BackupReport> {
  const { writer, engine } = await openLive(io, () => CHECK_TIME);
  try {
    return await backupStore(writer, COPY, { redoBytes });
  } finally {
    await engine.close();
  }
}
