import { mkdtemp, readFile, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openFilesEngine } from '../../src/engine/files/open-files-engine.ts';
import type { Problem } from '../../src/engine/upkeep.ts';
import { restoreStore } from '../../src/restore-store.ts';
import { SeededRandom } from '../../src/testing/disk/seeded-random.ts';
import { createWorkflows } from '../../src/workflow/create-workflows.ts';
import { BUNDLE } from '../../src/testing/workflow-suite/fixture.ts';
import { makeLongThread } from '../../src/testing/workflow-suite/long-chain.ts';

const NAME = `workflows/bundles/${BUNDLE}/threads.json`;

/** What forks of a long thread took, and what a store that is opened again knows of them. */
export interface ForksMeasured {
  readonly bytesPerFork: number;
  readonly blobsAdded: number;
  readonly problems: readonly Problem[];
  readonly indexSame: boolean;
  readonly headsSame: boolean;
  /** A backup, restored, has the same index, also as a plain file. */
  readonly backupSame: boolean;
}

export async function measureForks(steps: number, forks: number): Promise<ForksMeasured> {
  const folder = await mkdtemp(join(tmpdir(), 'quipu-forks-'));
  const store = join(folder, 'store');
  try {
    const engine = await openFilesEngine(store, { durability: 'unsafe' });
    const { thread, hashes } = await makeLongThread(engine, steps);
    const workflows = createWorkflows(engine);
    // The first one writes what all share.
    await workflows.fork(thread.id);
    const [bytes, { blobs }] = [await dataBytes(store), await engine.stats()];
    const random = new SeededRandom(7);
    const heads = new Map<string, string>();
    for (let n = 0; n < forks; n += 1) {
      const fork = await workflows.fork(thread.id, { at: hashes[random.below(steps)]! });
      heads.set(fork.id, fork.head);
    }
    await engine.checkpoint();
    const bytesPerFork = ((await dataBytes(store)) - bytes) / forks;
    const blobsAdded = (await engine.stats()).blobs - blobs;
    const { problems } = await engine.upkeep.check({ repair: false });
    const content = (await engine.getDoc(NAME))?.content;
    const [copy, restored] = [join(folder, 'copy'), join(folder, 'restored')];
    await engine.upkeep.backup(copy);
    await engine.close();
    await restoreStore(copy, restored);
    const backedUp = await openFilesEngine(restored, { durability: 'unsafe' });
    const backupSame =
      (await backedUp.getDoc(NAME))?.content === content &&
      (await readFile(join(restored, NAME), 'utf8')) === content;
    await backedUp.close();

    const again = await openFilesEngine(store, { durability: 'unsafe' });
    const indexSame = (await again.getDoc(NAME))?.content === content;
    let headsSame = true;
    for (const [id, head] of heads) {
      headsSame &&= (await createWorkflows(again).get(id))?.head === head;
    }
    await again.close();
    return { bytesPerFork, blobsAdded, problems, indexSame, headsSame, backupSame };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The journal is written over, and the index can be deleted: what stays is the rest. */
async function dataBytes(folder: string): Promise<number> {
  let bytes = 0;
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isFile() || /\/journal\/|\/index\.db/.test(path)) continue;
    bytes += (await stat(path)).size;
  }
  return bytes;
}
