import { basename, dirname, join, resolve } from 'node:path';
import { corrupt, exists, invalid } from '../../base/errors.ts';
import { sha256Hex } from '../../base/hash.ts';
import { checkString } from '../../base/text.ts';
import type { Io } from '../../engine/io.ts';
import { carryArtifacts } from '../artifacts/artifacts.ts';
import { scanReferences } from '../entries/pictures.ts';
import { copyWithSums } from '../files/carry-folder.ts';
import { folderFor, isSessionName, lockOf } from '../files/session-names.ts';
import { withFileLock, makeFolders, readBytes, writeAll, writeWhole } from '../files/write-file.ts';
import { readHeaderOf, withFile } from '../log/session-file.ts';
import type { SessionRecord, SessionsHome } from '../records/registry.ts';
import { SessionRefs } from '../records/session-refs.ts';

// The form of a session for another machine: its file, its artifacts, and `blobs/<sha256>` for each picture.

const BLOBS = 'blobs';
/** `blobs` may stand beside the session, or up to two folders above it. */
const BLOBS_LEVELS = 3;

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
    const copy = join(folder, basename(file));
    await copyWithSums(io, file, copy);
    await carryArtifacts(io, file, copy, { shares: () => false });
    return withFile(io, file, (opened) => scanReferences(opened));
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
  throw invalid('folder', `must be a new or empty folder, and ${folder} is not`);
}

/**
 * Imports an exported session, or the file of a session that another program has written, with its artifacts and the
 * blobs that it refers to. Returns the record of the session, which opens as any other.
 */
export async function importSession(
  home: SessionsHome,
  given: string,
  folder: string | undefined,
): Promise<SessionRecord> {
  const { io, engine, registry } = home;
  const { from, blobs } = await findImported(io, resolve(checkString(given, 'folder')));
  const name = basename(from);
  const header = await readHeaderOf(io, from);
  const target = folderFor(home.root, folder, header.cwd);
  const file = join(target, name);
  const known = await registry.get(header.id);
  for (const path of [known?.file, file]) {
    if (path === undefined || (await io.stat(path)) === undefined) continue;
    throw exists('session', header.id, `the session ${header.id} is at ${path} already`);
  }
  const refs = new SessionRefs(engine, header.id);
  for await (const bytes of blobs) await refs.put([{ sha256: sha256Hex(bytes), bytes }]);
  await refs.adopt(await withFile(io, from, (opened) => scanReferences(opened)));
  await registry.put({ id: header.id, file });
  await makeFolders(io, target);
  await carryArtifacts(io, from, file, { shares: () => false, counts: true });
  await copyWithSums(io, from, file);
  return { id: header.id, file };
}

/** Finds the file of a session, and the blobs that come with it. */
async function findImported(
  io: Io,
  path: string,
): Promise<{ from: string; blobs: AsyncIterable<Uint8Array> }> {
  const stat = await io.stat(path);
  if (stat?.kind === 'folder') {
    const name = (await io.list(path)).find(isSessionName);
    if (name === undefined) throw invalid('folder', `has a session in it, and ${path} has none`);
    return { from: join(path, name), blobs: blobsIn(io, join(path, BLOBS), () => true) };
  }
  if (stat?.kind !== 'file' || !isSessionName(basename(path))) {
    const problem = 'must be a folder with a session, or a session called ….jsonl';
    throw invalid('folder', `${problem}, and ${path} is not`);
  }
  const refs = await withFile(io, path, (opened) => scanReferences(opened));
  const folder = await findBlobs(io, path);
  return { from: path, blobs: blobsIn(io, folder, (name) => refs.has(name)) };
}

/** Programs keep `blobs` beside the folder of all their sessions. */
async function findBlobs(io: Io, path: string): Promise<string> {
  let [folder, blobs] = [dirname(path), ''];
  for (let level = 0; level < BLOBS_LEVELS; level += 1) {
    blobs = join(folder, BLOBS);
    if ((await io.stat(blobs))?.kind === 'folder') break;
    folder = dirname(folder);
  }
  return blobs;
}

async function* blobsIn(
  io: Io,
  folder: string,
  wants: (sha256: string) => boolean,
): AsyncGenerator<Uint8Array> {
  if ((await io.stat(folder))?.kind !== 'folder') return;
  for (const name of await io.list(folder)) {
    if (!/^[0-9a-f]{64}$/.test(name) || !wants(name)) continue;
    const path = join(folder, name);
    const bytes = await withFile(io, path, async (file) => readBytes(file, await file.size()));
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
