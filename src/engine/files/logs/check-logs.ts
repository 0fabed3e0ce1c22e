import { crc32 } from '../../../format/bytes.ts';
import { decodeUtf8 } from '../../../base/text.ts';
import { decodeLogExtent, LOG_EXTENT_BYTES, type LogExtent } from '../../../format/log-extent.ts';
import { openDamaged } from './salvage-log.ts';
import { EXTENTS_FOLDER, extentsFile, logOfExtents, NOT_WRITTEN, START } from './line-log.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import type { Check } from '../truth/check.ts';
import { type Found, staleIndex } from '../truth/findings.ts';
import { walkFolder } from '../disk/folders.ts';

const PAGE = 1000;

/** Checks every log: extents, lines, lengths, and whether the index lists exactly these logs. */
export async function checkLogs(check: Check): Promise<void> {
  const { core, files, findings, writer } = check;
  for await (const path of walkFolder(files, EXTENTS_FOLDER)) {
    const name = logOfExtents(path);
    if (name === undefined) continue;
    findings.counts.logs += 1;
    await checkLog(check, name);
  }
  let after: string | undefined;
  for (;;) {
    const page = core.index.listLogs('', PAGE, after);
    for (const name of page) {
      if ((await files.size(extentsFile(name))) > 0) continue;
      // The log was removed meanwhile, or is really gone.
      await writer.exclusively(() => checkListed(check, name));
    }
    after = page.at(-1);
    if (after === undefined) return;
  }
}

async function checkListed({ core, files, findings }: Check, name: string): Promise<void> {
  const listed = core.index.listLogs(name, 1)[0] === name;
  if (!listed || (await files.size(extentsFile(name))) > 0) return;
  const what = `the extents of ${name} are gone`;
  findings.add({ what, ...lostAt(extentsFile(name), 0, 0), id: name });
}

async function checkLog(check: Check, name: string): Promise<void> {
  const { files, findings, writer } = check;
  // Lines that moved because the file became longer or shorter before them are not lost.
  const { shift } = await writer.exclusively(() => openDamaged(files, name));
  const extents = Math.floor((await files.size(extentsFile(name))) / LOG_EXTENT_BYTES);
  for (let index = 0; index < extents; index += 1) {
    const { problem, bytes } = await examine({ files, name, shift }, index);
    await findings.breathe(bytes, 'logs');
    if (problem === undefined) continue;
    // The log may have been removed and begun again between two reads.
    await writer.exclusively(async () => {
      const again = await examine({ files, name, shift }, index);
      if (again.problem !== undefined) findings.add(again.problem);
    });
  }
  await writer.exclusively(() => checkEnd(check, name));
}

interface Examining {
  readonly files: StoreFiles;
  readonly name: string;
  /** The distance by which lines may be off their place. */
  readonly shift: number;
}

interface Examined {
  readonly problem?: Found;
  readonly bytes: number;
}

/** Checks one extent and its lines. An extent that no longer exists is fine. */
async function examine({ files, name, shift }: Examining, index: number): Promise<Examined> {
  const at = index * LOG_EXTENT_BYTES;
  const first = Math.max(0, at - LOG_EXTENT_BYTES);
  const bytes = await files.read(extentsFile(name), first, at + LOG_EXTENT_BYTES - first);
  if (bytes.length === 0) return { bytes: 0 };
  const before = index === 0 ? START : decodeLogExtent(bytes.subarray(0, LOG_EXTENT_BYTES));
  const extent = decodeLogExtent(bytes.subarray(at - first));
  const inExtent = { ...lostAt(extentsFile(name), at, LOG_EXTENT_BYTES), id: name };
  if (extent === undefined) {
    return { problem: { ...inExtent, what: `extent ${index} is damaged` }, bytes: 0 };
  }
  // The extent before tells the start of these lines, and its damage was reported.
  if (before === undefined) return { bytes: 0 };
  const length = extent.endOffset - before.endOffset;
  if (length <= 0 || extent.endLine <= before.endLine) {
    return { problem: { ...inExtent, what: `extent ${index} ends before it begins` }, bytes: 0 };
  }
  const wrong = await wrongAt(before.endOffset);
  if (wrong === undefined) return { bytes: length + LOG_EXTENT_BYTES };
  const place =
    wrong === 'count' ? inExtent : { ...lostAt(name, before.endOffset, length), id: name };
  return { problem: { ...place, what: WRONG[wrong] }, bytes: length };

  async function wrongAt(offset: number): Promise<keyof typeof WRONG | undefined> {
    const found = wrongLines(
      await files.read(name, offset, length),
      before ?? START,
      extent ?? START,
    );
    if (found !== 'bytes' || shift === 0 || offset !== before?.endOffset) return found;
    return offset + shift < 0 ? found : wrongAt(offset + shift);
  }
}

const WRONG = {
  bytes: NOT_WRITTEN,
  count: 'the number of lines does not match the log',
  json: 'a line here is not JSON',
} as const;

function wrongLines(
  content: Uint8Array,
  before: LogExtent,
  extent: LogExtent,
): keyof typeof WRONG | undefined {
  const length = extent.endOffset - before.endOffset;
  if (content.length !== length || crc32(content) !== extent.contentCrc) return 'bytes';
  try {
    const lines = decodeUtf8(content).split('\n');
    if (lines.pop() !== '' || lines.length !== extent.endLine - before.endLine) return 'count';
    for (const line of lines) JSON.parse(line);
    return undefined;
  } catch {
    // INVALID or SyntaxError: the answer.
    return 'json';
  }
}

/** The log ends where its last extent does, and the index lists it. */
async function checkEnd({ core, files, findings }: Check, name: string): Promise<void> {
  const extentBytes = await files.size(extentsFile(name));
  if (extentBytes === 0) return;
  const rest = extentBytes % LOG_EXTENT_BYTES;
  if (rest > 0) {
    const what = 'half an extent is at the end';
    findings.add({ what, ...lostAt(extentsFile(name), extentBytes - rest, rest), id: name });
  }
  const at = extentBytes - rest - LOG_EXTENT_BYTES;
  const last = decodeLogExtent(
    await files.read(extentsFile(name), Math.max(0, at), LOG_EXTENT_BYTES),
  );
  const size = await files.size(name);
  if (last !== undefined && last.endOffset !== size) {
    const offset = Math.min(size, last.endOffset);
    const what = `the log should have ${last.endOffset} bytes`;
    findings.add({ what, ...lostAt(name, offset, size - offset), id: name });
  }
  if (core.index.listLogs(name, 1)[0] !== name) {
    findings.add(staleIndex(`the index does not list log ${name}`, name));
  }
}

function lostAt(file: string, offset: number, length: number): Omit<Found, 'what'> {
  return { file, offset, severity: 'lost', length };
}
