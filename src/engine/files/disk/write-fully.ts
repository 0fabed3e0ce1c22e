import type { Io, IoFile } from '../../io.ts';
import { syncFile } from './sync-failure.ts';

/** A short write is an error: half a record must never pass for a whole one. */
export async function writeFully(file: IoFile, bytes: Uint8Array, position: number): Promise<void> {
  const written = await file.write(bytes, position);
  if (written !== bytes.length) throw shortWrite(written, bytes.length);
}

export function shortWrite(written: number, length: number): Error {
  const error = new Error(`short write: ${written} of ${length} bytes`);
  return Object.assign(error, { code: 'ENOSPC' });
}

/** For files that recovery and checkpoints write themselves. The bytes are durable when this resolves. */
export async function writeAndSync(
  io: Io,
  path: string,
  { bytes, position }: { bytes: Uint8Array; position: number },
): Promise<void> {
  const file = await io.open(path, 'write');
  try {
    await writeFully(file, bytes, position);
    await syncFile(file);
  } finally {
    await file.close();
  }
}
