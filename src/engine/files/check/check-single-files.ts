import { decodeCollectedMap } from '../../../format/collected-map.ts';
import { decodeErasedRecord, ERASED_RECORD_BYTES } from '../../../format/erased-record.ts';
import { decodeFileHeader, OPEN_FILE_HEADER_BYTES } from '../../../format/file-header.ts';
import { decodeTypeLine } from '../../../format/type-line.ts';
import { COLLECTED_FILE, ERASED_FILE, TURNS_FILE, TYPES_FILE } from '../names.ts';
import { fileLengths, HEADED_FILES } from '../recovery/file-lengths.ts';
import type { Check } from './check.ts';

const LINE_BREAK = 0x0a;

/** How the single files begin, how long they are, and the declared types. */
export async function checkHeaders({ files, findings, snapshot }: Check): Promise<void> {
  for (const { name, magic, recordBytes } of HEADED_FILES) {
    const length = recordBytes === 0 ? OPEN_FILE_HEADER_BYTES : recordBytes;
    const header = decodeFileHeader(await files.read(name, 0, length));
    if (header?.magic === magic && header.recordBytes === recordBytes) continue;
    const what = 'the header of the file is damaged';
    findings.add({ what, file: name, offset: 0, severity: 'lost', length });
  }
  for (const [name, length] of fileLengths(snapshot.tails)) {
    const size = await files.size(name);
    // The end of turns.log may belong to turns still open; its slots are looked at one by one.
    if (size >= length || name === TURNS_FILE) continue;
    const what = `the file should have ${length} bytes`;
    findings.add({ what, file: name, offset: size, severity: 'lost', length: 0 });
  }
}

/** Which turns a collection took. The file is there once something was collected. */
export async function checkCollected({ core, files, findings }: Check): Promise<void> {
  const length = await files.size(COLLECTED_FILE);
  const map = decodeCollectedMap(await files.read(COLLECTED_FILE, 0, length));
  if (
    map === undefined ? core.collected.next > 0 || length > 0 : map.next !== core.collected.next
  ) {
    const what = 'the list of collected turns is damaged';
    findings.add({ what, file: COLLECTED_FILE, offset: 0, severity: 'lost', length });
  }
}

export async function checkTypes({ files, findings, snapshot }: Check): Promise<void> {
  const bytes = await files.read(TYPES_FILE, 0, snapshot.tails.typesBytes);
  for (let at = 0; at < bytes.length;) {
    const found = bytes.indexOf(LINE_BREAK, at) + 1;
    const end = found === 0 ? bytes.length : found;
    if (decodeTypeLine(bytes.subarray(at, end)) === undefined) {
      const what = 'this line is not a declared type';
      findings.add({ what, file: TYPES_FILE, offset: at, severity: 'lost', length: end - at });
    }
    at = end;
  }
  await findings.rest(bytes.length, 'types');
}

/** What was erased, and where: an unreadable note could bring a blob back as missing. */
export async function checkErased({ files, findings }: Check): Promise<void> {
  const bytes = await files.read(ERASED_FILE, 0, await files.size(ERASED_FILE));
  for (let offset = 0; offset < bytes.length; offset += ERASED_RECORD_BYTES) {
    const record = bytes.subarray(offset, offset + ERASED_RECORD_BYTES);
    if (decodeErasedRecord(record) !== undefined) continue;
    const what = 'this note of an erased blob is damaged';
    findings.add({ what, file: ERASED_FILE, offset, severity: 'lost', length: record.length });
  }
  await findings.rest(bytes.length, 'erased');
}
