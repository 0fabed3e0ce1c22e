import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { createUnzstd } from '../../base/unzstd.ts';
import type { SourceFile } from '../source/source.ts';

/** A file to read by position. Disposing of it removes what was unpacked. */
interface Unpacked extends AsyncDisposable {
  readonly path: string;
}

/** A packed file is damaged, or is gone. */
export class NotUnpacked extends Error {}

/** A packed file is unpacked into a folder of its own, so that memory stays bounded whatever its size. */
export async function unpack({ path, packed }: SourceFile): Promise<Unpacked> {
  if (packed === undefined) return { path, [Symbol.asyncDispose]: async () => undefined };
  const folder = await mkdtemp(join(tmpdir(), 'quipu-import-'));
  const to = join(folder, 'unpacked');
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true });
  try {
    const unpacker = packed === 'zstd' ? createUnzstd() : createGunzip();
    await pipeline(createReadStream(path), unpacker, createWriteStream(to, { mode: 0o600 }));
  } catch (error) {
    await remove();
    throw new NotUnpacked(error instanceof Error ? error.message : String(error));
  }
  return { path: to, [Symbol.asyncDispose]: remove };
}
