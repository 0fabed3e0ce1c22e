import { decodeCollectedMap } from '../../../format/collected-map.ts';
import { decodeErasedRecord, ERASED_RECORD_BYTES } from '../../../format/erased-record.ts';
import { COLLECTED_FILE, ERASED_FILE, HEADS_FILE, TURNS_FILE, TYPES_FILE } from '../names.ts';
import { fileLengths, HEADED_FILES, headerOf } from '../recovery/file-lengths.ts';
import { typeLinesIn } from '../turns/type-table.ts';
import type { Check } from './check.ts';

/** Checks the headers and the lengths of the single files, and the declared types. */
export async function checkHeaders({ files, findings, snapshot }: Check): Promise<void> {
  for (const headed of HEADED_FILES) {
    const right = headerOf(headed);
    const { length } = right;
    if (Buffer.compare(right, await files.read(headed.name, 0, length)) === 0) continue;
    const what = 'the header of the file is damaged';
    const place = { file: headed.name, offset: 0, length };
    findings.add({ what, ...place, severity: 'stale', remedy: 'header' });
  }
  for (const [name, length] of fileLengths(snapshot.tails)) {
    const size = await files.size(name);
    // Turns and heads are checked one by one. The end of turns.log may belong to turns that are still open.
    if (size >= length || name === TURNS_FILE || name === HEADS_FILE) continue;
    const what = `the file should have ${length} bytes`;
    findings.add({ what, file: name, offset: size, severity: 'lost', length: 0 });
  }
}

/** Checks the map of collected turns. The file exists once something was collected. */
export async function checkCollected({ core, files, findings }: Check): Promise<void> {
  const length = await files.size(COLLECTED_FILE);
  const map = decodeCollectedMap(await files.read(COLLECTED_FILE, 0, length));
  if (
    map === undefined ? core.collected.next > 0 || length > 0 : map.next !== core.collected.next
  ) {
    const what = 'the list of collected turns is damaged; the next collection makes it again';
    findings.add({ what, file: COLLECTED_FILE, offset: 0, severity: 'lost', length });
  }
}

export async function checkTypes({ files, findings, snapshot }: Check): Promise<void> {
  const bytes = await files.read(TYPES_FILE, 0, snapshot.tails.typesBytes);
  for (const { line, offset, length } of typeLinesIn(bytes)) {
    if (line !== undefined) continue;
    const what = 'this line is not a declared type';
    findings.add({ what, file: TYPES_FILE, offset, severity: 'lost', length });
  }
  await findings.rest(bytes.length, 'types');
}

/** Checks the records of erasures: with an unreadable record an erased blob could count as missing. */
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
