import type { Io, IoFile } from '../../engine/io.ts';
import { encodeUtf8 } from '../../base/utf8.ts';
import { withFile } from './open-session-file.ts';
import { parseLine } from './parse-line.ts';
import { readBackward, readForward } from './read-lines.ts';
import { tornFileOf } from './session-names.ts';
import { toFileError, writeAll } from './write-file.ts';

/** An entry on its way to the file. */
export interface PendingLine {
  readonly id: string;
  readonly line: string;
}

/**
 * Appends whole lines to a session file, durably, and returns its new size. The caller holds the session's lock. Bytes
 * that a crash cut short are taken away first, so that no line is ever glued to half of another. Lines that a failed
 * attempt did write, from `knownSize` on, are not written twice.
 */
export async function appendLines(
  io: Io,
  path: string,
  { lines, knownSize }: { lines: readonly PendingLine[]; knownSize: number },
): Promise<number> {
  return withFile(io, path, 'write', async (file) => {
    const size = await repairTail(io, path, file);
    const span = { from: Math.min(knownSize, size), to: size };
    const there = await findLines(file, span, new Set(lines.map(({ line }) => line)));
    const missing = lines.filter(({ line }) => !there.has(line));
    if (missing.length === 0) return size;
    const bytes = encodeUtf8(missing.map(({ line }) => `${line}\n`).join(''));
    try {
      await writeAll(file, bytes, size);
      await file.sync();
    } catch (error) {
      // If bytes are left after this, the next attempt finds them and passes over them.
      await file.truncate(size).catch(() => undefined);
      throw toFileError(error, path);
    }
    return size + bytes.length;
  });
}

/** Returns the size up to which the file is made of whole lines, after setting the rest aside. */
async function repairTail(io: Io, path: string, file: IoFile): Promise<number> {
  const size = await file.size();
  if (size === 0) return 0;
  const last = Buffer.alloc(1);
  await file.read(last, size - 1);
  if (last[0] === 0x0a) return size;
  for await (const line of readBackward(file, size)) {
    if (line.bytes !== undefined && !parseLine(line.bytes).malformed) break;
    await keepTorn(io, path, line.bytes ?? Buffer.alloc(0));
    await file.truncate(line.start);
    await file.sync();
    return line.start;
  }
  await writeAll(file, Buffer.from('\n'), size);
  return size + 1;
}

async function keepTorn(io: Io, path: string, bytes: Uint8Array): Promise<void> {
  const aside = await io.open(tornFileOf(path), 'create');
  try {
    await writeAll(aside, Buffer.concat([bytes, Buffer.from('\n')]), await aside.size());
    await aside.sync();
  } finally {
    await aside.close();
  }
}

/** Returns those of these lines that stand in a part of the file, byte for byte. */
async function findLines(
  file: IoFile,
  { from, to }: { readonly from: number; readonly to: number },
  wanted: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  for await (const { bytes } of readForward(file, from, to)) {
    const text = bytes === undefined ? '' : Buffer.from(bytes).toString('utf8');
    if (wanted.has(text)) found.add(text);
  }
  return found;
}
