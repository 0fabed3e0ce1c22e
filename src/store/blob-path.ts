import { join } from 'node:path';
import { QuipuError } from '../base/errors.ts';
import type { Engine } from '../engine/engine.ts';
import { findHash, noBlob } from './create-blobs.ts';

/** Files are for programs that want a path; the folder can be deleted at any time. */
const FOLDER = 'blob-files';

/** The blob as a file named by its SHA-256. The file is created when it does not exist. */
export async function blobPath(
  engine: Engine,
  folder: string | undefined,
  ref: string,
): Promise<string> {
  if (folder === undefined) {
    throw new QuipuError(
      'UNSUPPORTED',
      'blobs.path needs the folder of the store on this machine; use blobs.get or blobs.stream',
      { what: 'blobs.path', found: 'a store on a server' },
    );
  }
  const hash = await findHash(engine, ref);
  const bytes = hash && (await engine.viewBlob(hash));
  if (bytes === undefined) throw noBlob(ref);
  const { BlobFiles } = await import('../session/entries/blob-files.ts');
  return (await new BlobFiles(join(folder, FOLDER)).put(bytes)).path;
}

/** Removes unfinished files that dead processes left behind. */
export async function removeDrafts(folder: string, olderThanMs: number): Promise<void> {
  const { BlobFiles } = await import('../session/entries/blob-files.ts');
  new BlobFiles(join(folder, FOLDER)).removeDrafts(olderThanMs);
}
