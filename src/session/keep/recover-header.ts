import { resolve } from 'node:path';
import { invalid, orNothing } from '../../base/errors.ts';
import { checkString, encodeUtf8 } from '../../base/text.ts';
import type { Io } from '../../engine/io.ts';
import { SESSION_VERSION, toLine, type SessionHeader } from '../entries/session-entry.ts';
import { copyBytes } from '../files/carry-folder.ts';
import { carrySums, readSums } from '../files/file-sums.ts';
import { lockOf, parseSessionName } from '../files/session-names.ts';
import { withFileLock, writeAll, writeWhole } from '../files/write-file.ts';
import { readHeader, withFile } from '../log/session-file.ts';

/** Every byte of the file stays, behind the new header. A header that can be read is left as it is. */
export async function recoverHeader(io: Io, given: string): Promise<SessionHeader> {
  const path = resolve(checkString(given, 'file'));
  return withFileLock(io, lockOf(path), () =>
    withFile(io, path, 'read', async (file) => {
      const found = (await orNothing(() => readHeader(file, path), 'CORRUPT'))?.header;
      if (found !== undefined) return found;
      const named = parseSessionName(path);
      if (named === undefined)
        throw invalid('file', `must be called <timestamp>_<id>.jsonl, got ${path}`);
      const header: SessionHeader = {
        type: 'session',
        version: SESSION_VERSION,
        ...named,
        cwd: '',
      };
      const line = encodeUtf8(`${toLine(header)}\n`);
      const size = await file.size();
      const [first] = (await readSums(io, path)).ranges;
      const lost = Buffer.alloc(Math.min(size, first?.end ?? 0));
      await file.read(lost, 0);
      await writeWhole(io, path, async (target) => {
        await writeAll(target, line, 0);
        await copyBytes(file, { target, from: 0, to: size, at: line.length });
      });
      // The old header is accepted as it is. The lines after it keep their checksums.
      await carrySums(io, { from: path, to: path }, [line, lost]).catch(() => undefined);
      return header;
    }),
  );
}
