import { basename, join, resolve } from 'node:path';
import { invalid, corrupt } from '../../base/errors.ts';
import { sha256Hex } from '../../base/hash.ts';
import { checkString } from '../../base/text.ts';
import type { Io } from '../../engine/io.ts';
import { Artifacts } from '../artifacts/artifacts.ts';
import { scanReferences } from '../entries/blob-reference.ts';
import { carryFolder, copyFile, copySums } from '../files/carry-folder.ts';
import { artifactsFolderOf, isSessionName, lockOf } from '../files/session-names.ts';
import { withFileLock, makeFolders, writeAll, writeWhole } from '../files/write-file.ts';
import { readHeaderOf, withFile } from '../log/session-file.ts';
import type { SessionRecord, SessionsHome } from '../records/registry.ts';
import { SessionRefs } from '../records/session-refs.ts';

// The form of a session for another machine: its file, its artifacts, and `blobs/<sha256>` for each picture.

const BLOBS = 'blobs';

export async function exportSession(
  home: SessionsHome,
  { id, file }: SessionRecord,
  given: string,
): Promise<ExportReport> {
  const { io, engine } = home;
  const folder = resolve(checkString(given, 'folder'));
  await assertEmpty(io, folder);
  await makeFolders(io, join(folder, BLOBS));
  // No line is written meanwhile, so that no line is copied in half.
  const refs = await withFileLock(io, lockOf(file), async () => {
    const copy = { io, path: join(folder, basename(file)) };
    await copyFile({ io, path: file }, copy);
    await copySums({ io, path: file }, copy);
    const artifacts = artifactsFolderOf(file);
    if (artifacts !== undefined && (await io.stat(artifacts))?.kind === 'folder') {
      await carryFolder(io, artifacts, join(folder, basename(artifacts)), { shares: () => false });
    }
    return withFile(io, file, 'read', (opened) => scanReferences(opened));
  });
  const missing: string[] = [];
  for (const sha256 of refs) {
    const hash = await engine.findBySha256(sha256);
    const bytes = hash && (await engine.getBlob(hash));
    if (bytes === undefined) missing.push(sha256);
    else {
      const path = join(folder, BLOBS, sha256);
      await writeWhole(io, path, (target) => writeAll(target, bytes, 0));
    }
  }
  return { folder, id, blobs: refs.size - missing.length, missing };
}

async function assertEmpty(io: Io, folder: string): Promise<void> {
  const stat = await io.stat(folder);
  if (stat === undefined) return;
  if (stat.kind === 'folder' && (await io.list(folder)).length === 0) return;
  throw invalid('folder', `is new or empty, and ${folder} is not`);
}

/** Imports an exported session. Returns the record of the session, which opens as any other. */
export async function importSession(
  home: SessionsHome,
  given: string,
  folderFor: (cwd: string) => string,
): Promise<SessionRecord> {
  const { io, engine, registry } = home;
  const source = resolve(checkString(given, 'folder'));
  const name = (await io.list(source)).find(isSessionName);
  if (name === undefined) throw invalid('folder', `has a session in it, and ${source} has none`);
  const from = join(source, name);
  const header = await readHeaderOf(io, from);
  const target = folderFor(header.cwd);
  const file = join(target, name);
  const known = await registry.get(header.id);
  for (const path of [known?.file, file]) {
    if (path === undefined || (await io.stat(path)) === undefined) continue;
    throw invalid('folder', `holds the session ${header.id}, which is at ${path} already`);
  }
  const refs = new SessionRefs(engine, header.id);
  for await (const bytes of exportedBlobs(io, join(source, BLOBS))) {
    await refs.put([{ sha256: sha256Hex(bytes), bytes }]);
  }
  await refs.adopt(await withFile(io, from, 'read', (opened) => scanReferences(opened)));
  await registry.put({ id: header.id, file });
  await makeFolders(io, target);
  const [artifacts, place] = [artifactsFolderOf(from), artifactsFolderOf(file)];
  if (artifacts !== undefined && place !== undefined && (await io.stat(artifacts)) !== undefined) {
    await carryFolder(io, artifacts, place, { shares: () => false });
    await new Artifacts(io, place).raiseCounters(await new Artifacts(io, artifacts).counters());
  }
  await copyFile({ io, path: from }, { io, path: file });
  await copySums({ io, path: from }, { io, path: file });
  return { id: header.id, file };
}

async function* exportedBlobs(io: Io, folder: string): AsyncGenerator<Uint8Array> {
  if ((await io.stat(folder))?.kind !== 'folder') return;
  for (const name of await io.list(folder)) {
    if (!/^[0-9a-f]{64}$/.test(name)) continue;
    const path = join(folder, name);
    const bytes = await withFile(io, path, 'read', async (file) => {
      const all = Buffer.alloc(await file.size());
      return all.subarray(0, await file.read(all, 0));
    });
    if (sha256Hex(bytes) !== name) {
      throw corrupt(path, `Blob content does not match its hash: ${path}`);
    }
    yield bytes;
  }
}

export interface ExportReport {
  readonly folder: string;
  readonly id: string;
  readonly blobs: number;
  /** References whose blobs the store does not have. */
  readonly missing: readonly string[];
}
