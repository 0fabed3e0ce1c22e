import { lstatSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { takeExclusiveLock } from '../../src/engine/files/disk/owner-lock.ts';
import { openStore } from '../../src/open-store.ts';
import { restoreStore } from '../../src/restore-store.ts';
import type { Store } from '../../src/store/store.ts';
import { BUNDLE } from '../../src/testing/workflow-suite/fixture.ts';

/*
 * Invariant: whatever mask its user has, nobody else can read a file of a store or of a backup, nor enter a folder of
 * it: files have mode 600, folders 700. (Queues are looked at in test/queue.)
 */

/** Everything in a folder, itself included, that others may use: its path and mode. */
function openToOthers(folder: string): string[] {
  const found: string[] = [];
  const look = (path: string): void => {
    const stat = lstatSync(path);
    const mode = stat.mode & 0o777;
    if (mode !== (stat.isDirectory() ? 0o700 : 0o600)) {
      found.push(`${relative(folder, path)} ${mode.toString(8)}`);
    }
    if (stat.isDirectory()) for (const name of readdirSync(path)) look(join(path, name));
  };
  look(folder);
  return found;
}

function scratch(): string {
  const umask = process.umask(0);
  const folder = mkdtempSync(join(tmpdir(), 'quipu-modes-'));
  onTestFinished(() => {
    process.umask(umask);
    rmSync(folder, { recursive: true });
  });
  return folder;
}

async function useAll(store: Store): Promise<void> {
  const { id } = await store.contexts.create();
  await store.contexts.append(id, { type: 'note', payload: 'text' });
  await store.blobs.put(Buffer.alloc(400_000, 'large'), { sha256: true });
  const open = await store.contexts.open(id, { type: 'note' });
  await open.write('streamed');
  const chat = await store.chats.open((await store.chats.create({ title: 'c' })).id);
  await chat.add({ role: 'user', content: 'hello' });
  await store.workflows.start({ name: 'w', bundle: BUNDLE, prompt: 'p' });
  const session = await store.sessions.create({ cwd: '/project' });
  const data = Buffer.alloc(3000, 'pixels').toString('base64');
  await session.append({ type: 'message', content: [{ type: 'image', data }] });
  await session.saveArtifact('long output', 'bash');
}

it('keeps its files from others, open and closed, backed up and restored', async () => {
  const folder = scratch();
  const [live, copy, again] = ['live', 'copy', 'again'].map((name) => join(folder, name));
  const store = await openStore(live!);
  await useAll(store);
  expect(openToOthers(live!)).toEqual([]);
  await store.maintain.backup(copy!);
  await store.close();
  expect(openToOthers(live!)).toEqual([]);
  expect(openToOthers(copy!)).toEqual([]);
  await restoreStore(copy!, again!);
  await (await openStore(again!)).close();
  expect(openToOthers(again!)).toEqual([]);
});

it('makes a lock that is for its user alone, and leaves one alone that is held', () => {
  const path = join(scratch(), 'lock.db');
  const unlock = takeExclusiveLock(path, 0);
  expect(lstatSync(path).mode & 0o777).toBe(0o600);
  // Had the file been opened and closed in between, the first lock would be gone.
  expect(takeExclusiveLock(path, 0)).toBeUndefined();
  unlock?.();
});
