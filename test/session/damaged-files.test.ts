import * as fs from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openFilesEngine } from '../../src/engine/files/open-files-engine.ts';
import { plainFilesIo } from '../../src/engine/files/disk/plain-files-io.ts';
import type { Engine } from '../../src/engine/engine.ts';
import type { Io } from '../../src/engine/io.ts';
import { checkSessions } from '../../src/session/keep/check-sessions.ts';
import { Registry } from '../../src/session/records/registry.ts';
import { sessionRoots } from '../../src/session/keep/session-roots.ts';
import { createStore } from '../../src/store/create-store.ts';
import type { Store } from '../../src/store/store.ts';

// Invariant: after any damage to any one file of a session, the check says so, or everything reads as before.
// Method: every file below the folder of the sessions, in every way of being damaged, one after the other.

const DAMAGES: Readonly<Record<string, (path: string) => void>> = {
  flipped(path) {
    const bytes = fs.readFileSync(path);
    const at = Math.floor(bytes.length / 2);
    bytes[at] = (bytes[at] ?? 0) ^ 4;
    fs.writeFileSync(path, bytes);
  },
  cut: (path) => fs.truncateSync(path, Math.max(0, fs.statSync(path).size - 7)),
  emptied: (path) => fs.truncateSync(path, 0),
  zeroed: (path) => fs.writeFileSync(path, Buffer.alloc(fs.statSync(path).size)),
  deleted: (path) => fs.rmSync(path),
};

interface Scene {
  readonly engine: Engine;
  readonly store: Store;
  readonly sessions: string;
}

async function openScene(): Promise<Scene> {
  const folder = fs.mkdtempSync(join(tmpdir(), 'quipu-damaged-'));
  const engine = await openFilesEngine(join(folder, 'store'), { durability: 'unsafe' });
  const store = createStore(engine, { folder: join(folder, 'store') });
  onTestFinished(async () => {
    await store.close();
    fs.rmSync(folder, { recursive: true, force: true });
  });
  const sessions = join(folder, 'store/sessions');
  const session = await store.sessions.create({ cwd: '/project' });
  for (let n = 0; n < 3; n++) await session.append({ type: 'message', id: `e${n}`, n });
  fs.appendFileSync(session.file!, '{"type":"message","id":"torn');
  await session.append({ type: 'message', id: 'last' });
  await session.saveArtifact('the output of a tool', 'bash');
  const agentId = await session.artifacts.allocateAgent('Plan');
  await session.artifacts.saveAgentOutput(agentId, '# a plan');
  const child = await store.sessions.create({ parent: session, agentId });
  await child.append({ type: 'message', text: 'of the child' });
  await child.close();
  await session.close();
  return { engine, store, sessions };
}

async function readEverything({ store }: Scene): Promise<unknown> {
  const all: unknown[] = [];
  for (const { id, available } of (await store.sessions.list()).items) {
    await using session = await store.sessions.open(id);
    const { entries, unresolved, malformedLines } = await session.load();
    all.push({ id, available, entries, unresolved, malformedLines });
    for (const artifact of await session.artifacts.listFiles()) {
      all.push([artifact, fs.readFileSync(join(session.artifacts.folder, artifact), 'hex')]);
    }
  }
  return all;
}

function filesIn(folder: string): string[] {
  const entries = fs.readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return files.map(({ parentPath, name }) => join(parentPath, name)).toSorted();
}

/** The damages that pass for nothing, though something reads otherwise. */
async function findMissed(scene: Scene, io: Io): Promise<string[]> {
  const { engine, sessions } = scene;
  const before = await readEverything(scene);
  const missed: string[] = [];
  const files = filesIn(sessions);
  const contents = new Map(files.map((path) => [path, fs.readFileSync(path)]));
  for (const path of files) {
    for (const [name, damage] of Object.entries(DAMAGES)) {
      damage(path);
      const here = { io, registry: new Registry(engine), host: hostname(), root: sessions };
      let said = false;
      for await (const _ of checkSessions(here)) said = true;
      const after = await readEverything(scene).catch((error: unknown) => error);
      if (!said && JSON.stringify(after) !== JSON.stringify(before))
        missed.push(`${path}: ${name}`);
      for (const [file, bytes] of contents) {
        fs.mkdirSync(join(file, '..'), { recursive: true });
        fs.writeFileSync(file, bytes);
      }
    }
  }
  return missed;
}

describe('any damage to any file of a session', () => {
  it('is told, or does no harm', async () => {
    const scene = await openScene();
    expect(filesIn(scene.sessions).length).toBeGreaterThan(8);
    expect(await findMissed(scene, plainFilesIo)).toEqual([]);
    expect(await scene.store.maintain.verify()).toMatchObject({ ok: true });
  });

  it('would pass for nothing without checksums', async () => {
    const scene = await openScene();
    const forgetful: Io = {
      ...plainFilesIo,
      open: (path, mode) =>
        plainFilesIo.open(path.includes('/.sums/') ? '/nowhere/at/all' : path, mode),
    };
    expect((await findMissed(scene, forgetful)).length).toBeGreaterThan(0);
  });
});

describe('a collection', () => {
  it('reads a file of a session once, and again when it has changed', async () => {
    const { engine, store, sessions: root } = await openScene();
    const opened: string[] = [];
    // As if all files were older than the times of a file system are coarse.
    const io: Io = {
      ...plainFilesIo,
      async stat(path) {
        const stat = await plainFilesIo.stat(path);
        return stat && { ...stat, changedMs: (stat.changedMs ?? 0) - 60_000 };
      },
      open(path, mode) {
        opened.push(path);
        return plainFilesIo.open(path, mode);
      },
    };
    const search = async (): Promise<number> => {
      opened.length = 0;
      const found: unknown[] = [];
      for await (const one of sessionRoots(engine, io, { root }).roots()) found.push(one);
      return opened.filter((path) => /\.(?:jsonl|log|md|torn)$/.test(path)).length;
    };
    expect(await search()).toBeGreaterThan(3);
    expect(await search()).toBe(0);
    const [item] = (await store.sessions.list()).items;
    fs.appendFileSync(item!.file, '{"type":"x","id":"other"}\n');
    expect(await search()).toBe(1);
    // A store that knows nothing of it, such as one that was restored, reads everything.
    const names = await engine.listDocs('session-seen/', 10);
    await engine.commit({ docs: names.map((name) => ({ name, content: undefined })) });
    expect(await search()).toBeGreaterThan(3);
  });
});
