import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { toTurnId } from '../../src/base/brand.ts';
import { hashBytes } from '../../src/base/hash.ts';
import { isQuipuError } from '../../src/base/errors.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { openFilesEngine } from '../../src/engine/files/open-files-engine.ts';
import type { VerifyReport } from '../../src/maintain/verify-store.ts';
import { createStore } from '../../src/store/create-store.ts';
import type { Store } from '../../src/store/store.ts';
import { SeededRandom } from '../../src/testing/disk/seeded-random.ts';
import { fillEarly, fillLate } from '../crash/small-store.ts';
import { askAll, findQuestions } from './ask-all.ts';
import type { Answers, Questions } from './ask-all.ts';

// Damage to each file of a store in a real folder, and what must hold whatever it is:
// - the store gives each answer as it was, or says CORRUPT, or is not opened and says what to do;
// - `verify` is not ok while anything cannot be read, before a repair and after it;
// - a repair makes nothing worse, and is ok exactly when everything can be read again.

/** Kinds of files. A file that belongs to none fails the test: whoever adds one says here what it is. */
export const FILE_KINDS: Readonly<Record<string, RegExp>> = {
  FORMAT: /^FORMAT$/,
  checkpoint: /^journal\/checkpoint-[ab]$/,
  mark: /^journal\/mark$/,
  journal: /^journal\/[ab]\.wal$/,
  heads: /^turns\/heads\.tbl$/,
  turns: /^turns\/turns\.log$/,
  patches: /^turns\/patches\.log$/,
  types: /^turns\/types\.jsonl$/,
  'collected turns': /^turns\/collected\.map$/,
  'open turn': /^turns\/open\/\d+$/,
  pack: /^blobs\/pack-\d+\.pack$/,
  'SHA-256 names': /^blobs\/aliases\.log$/,
  'erased blobs': /^blobs\/erased\.log$/,
  documents: /^docs\/docs\.log$/,
  extents: /^extents\/.*\.ext$/,
  log: /^logs\//,
  'published document': /^out\//,
  index: /^index\.db/,
  lock: /^(?:journal\/)?lock\.db/,
  reserve: /^journal\/reserve$/,
  owner: /^owner\.json$/,
};

const NOW = 5_000_000;

/** What a repair, or the loss itself, makes of an answer without lying: `docs/format/store.md` says so of these files. */
const MAY_DIFFER: Readonly<
  Record<string, (question: string, right: string | undefined, report: VerifyReport) => boolean>
> = {
  // Turns that were collected can be seen again, and that is told until the next collection.
  'collected turns': (question, right, { ok }) =>
    /turn/.test(question) && /^(?:undefined|NOT_FOUND|\[\])$/.test(right ?? '') && !ok,
  // A turn that a kill left open is ended by the next opening that can read its head.
  heads: (question, right, { ok }) => /turn/.test(question) && /flags:4/.test(right ?? '') && !ok,
  // The context goes on without the turn that is lost, and that is told for good.
  'open turn': (question, _, { ok }) => /context/.test(question) && !ok,
};

export interface Scene extends Disposable {
  readonly folder: string;
  readonly questions: Questions;
  readonly answers: Answers;
}

/** `wrap` stands between the store and whoever asks it. */
export type Wrap = (store: Store) => Store;

/** A store with one of everything; `killed` leaves a turn open and frames that are not in their files. */
export async function makeScene(how: 'closed' | 'killed'): Promise<Scene> {
  const base = newFolder();
  const [folder, live, whole] = [join(base, 'store'), join(base, 'live'), join(base, 'whole')];
  let now = 1000;
  const engine = await openFilesEngine(live, {
    clock: () => (now += 10),
    segmentBytes: 64 * 1024,
    checkpointMs: Infinity,
  });
  await fillEarly(engine);
  await engine.putBlob({ chunks: once('to be forgotten') });
  await engine.upkeep.eraseBlob(hashBytes(new TextEncoder().encode('to be forgotten')));
  await engine.checkpoint();
  await fillLate(engine, how === 'killed');
  await createStore(engine).maintain.gc({ graceMs: 1e9 });
  await engine.commit({ contexts: [{ do: 'create', base: toTurnId(2) }, { do: 'create' }] });
  await engine.checkpoint();
  await engine.commit({ docs: [{ name: 'last.json', content: '{}' }] });
  if (how === 'closed') await engine.close();
  cpSync(live, folder, { recursive: true, filter: (path) => !path.endsWith('quipu.sock') });
  if (how === 'killed') await engine.close();
  cpSync(folder, whole, { recursive: true });
  const opened = await open(whole);
  const questions = await findQuestions(opened.engine);
  const answers = await askAll(opened.engine, questions);
  await opened.store.close();
  const remove = (): void => rmSync(base, { recursive: true, force: true });
  return { folder, questions, answers, [Symbol.dispose]: remove };
}

async function* once(text: string): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(text);
}

interface Opened {
  readonly engine: Engine;
  readonly store: Store;
}

export async function open(folder: string): Promise<Opened> {
  const engine = await openFilesEngine(folder, { create: false, clock: () => NOW });
  return {
    engine,
    store: createStore(engine, { folder, queues: { folder: join(folder, 'queues') } }),
  };
}

export interface FileDamage {
  readonly kind: string;
  readonly file: string;
  readonly what: string;
  readonly plant: (path: string) => void;
}

/** Every file of the scene, each damaged in every way; `flips` bits of each are flipped, one at a time. */
export function* damagesOf(scene: Scene, flips: number, seed = 1): Generator<FileDamage> {
  const random = new SeededRandom(seed);
  for (const file of filesIn(scene.folder)) {
    const kind = Object.entries(FILE_KINDS).find(([, names]) => names.test(file))?.[0];
    if (kind === undefined) throw new Error(`no kind of file is called ${file}`);
    const about = { kind, file };
    const bytes = readFileSync(join(scene.folder, file));
    yield { ...about, what: 'deleted', plant: (path) => rmSync(path) };
    if (bytes.length === 0) continue;
    yield { ...about, what: 'emptied', plant: (path) => writeFileSync(path, '') };
    yield {
      ...about,
      what: 'cut in half',
      plant: (path) => writeFileSync(path, bytes.subarray(0, bytes.length / 2)),
    };
    yield {
      ...about,
      what: 'cut by a byte',
      plant: (path) => writeFileSync(path, bytes.subarray(0, -1)),
    };
    yield {
      ...about,
      what: 'zeroed',
      plant: (path) => writeFileSync(path, Buffer.alloc(bytes.length)),
    };
    for (let n = 0; n < flips; n += 1) {
      const at = random.below(bytes.length);
      const bit = random.below(8);
      const flipped = Buffer.from(bytes);
      flipped[at] = (flipped[at] ?? 0) ^ (1 << bit);
      yield {
        ...about,
        what: `bit ${bit} of byte ${at} flipped`,
        plant: (path) => writeFileSync(path, flipped),
      };
    }
  }
}

export type Verdict = 'harmless' | 'rebuilt' | 'lost in part' | 'not opened';

/** Throws when something that must hold does not. */
export async function meet(
  scene: Scene,
  damage: FileDamage,
  wrap: Wrap = (store) => store,
): Promise<Verdict> {
  const folder = join(newFolder(), 'store');
  cpSync(scene.folder, folder, { recursive: true });
  damage.plant(join(folder, damage.file));
  try {
    return await meetAt({ folder, scene, damage, wrap });
  } catch (error) {
    const where = `${damage.file}, ${damage.what}`;
    throw new Error(`${where}: ${(error as Error).message}`, { cause: error });
  } finally {
    rmSync(join(folder, '..'), { recursive: true, force: true });
  }
}

interface Meeting {
  readonly folder: string;
  readonly scene: Scene;
  readonly damage: FileDamage;
  readonly wrap: Wrap;
}

async function meetAt(meeting: Meeting): Promise<Verdict> {
  let first: Look;
  try {
    first = await look(meeting, true);
  } catch (error) {
    // Refused as a whole: then the message is all that people have.
    if (!isQuipuError(error, 'CORRUPT')) throw error;
    return 'not opened';
  }
  const last = await look(meeting, false);
  if (last.unreadable > first.unreadable) throw new Error('less can be read after the repair');
  if (!last.report.ok) return 'lost in part';
  return first.report.ok ? 'harmless' : 'rebuilt';
}

interface Look {
  readonly unreadable: number;
  readonly report: VerifyReport;
}

async function look(meeting: Meeting, repair: boolean): Promise<Look> {
  const { folder, scene, damage, wrap } = meeting;
  const { engine, store } = await open(folder);
  const { maintain } = wrap(store);
  try {
    const report = await maintain.verify();
    const found = await askAll(engine, scene.questions);
    for (const [question, answer] of found) {
      const right = scene.answers.get(question);
      if (answer === right || MAY_DIFFER[damage.kind]?.(question, right, report) === true) continue;
      throw new Error(`${question} is ${answer}\nand was ${right}`);
    }
    const unreadable = scene.answers.size - found.size;
    if (unreadable > 0 && report.ok)
      throw new Error(`verify is ok, and ${unreadable} answers are missing`);
    if (repair) await maintain.verify({ repair: true });
    return { unreadable, report };
  } finally {
    await store.close();
  }
}

function filesIn(folder: string): string[] {
  const found: string[] = [];
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) found.push(relative(folder, join(entry.parentPath, entry.name)));
  }
  return found.sort();
}

export function newFolder(): string {
  return mkdtempSync(join(tmpdir(), 'quipu-damage-'));
}
