import type { StateWriter } from '../truth/state.ts';
import { crc32 } from '../../../format/bytes.ts';
import { groupsOf } from '../../../base/pages.ts';
import { encodeUtf8 } from '../../../base/text.ts';
import type { JournalWrite } from '../../../format/journal-frame.ts';
import { encodeLogExtent, LOG_EXTENT_BYTES } from '../../../format/log-extent.ts';
import { EMPTY_LOG, type LogState } from '../../plan/draft.ts';
import { padLine } from '../../json-text.ts';
import type { LineErasure } from '../../upkeep.ts';
import { Quarantine } from '../truth/quarantine.ts';
import { extentOfLine, extentsFile, readExtent, readExtentLines } from './line-log.ts';

// Erasing overwrites each line in place by one of the same length, together with the checksum of its extent,
// through the journal. The journal itself is overwritten before and after. Nothing moves, so every known place in
// the log stays valid. When the erasure resolves, no file has the old lines. The journal is overwritten before, so
// that a crash leaves nothing in it, whatever checkpoint the crash follows. It is overwritten after, because the
// frames that overwrite an extent hold its other lines as they are now.

/** Small enough for the reserve: on a full disk the frame of an erasure uses that space. */
const FRAME_BYTES_MAX = 1024 * 1024;

export async function eraseLines(
  writer: StateWriter,
  log: string,
  erasures: readonly LineErasure[],
): Promise<void> {
  await writer.upkeep('erasing', async () => {
    const wanted = new Map(erasures.map(({ line, text }) => [line, text]));
    const state = (await writer.core.getLogState(log)) ?? EMPTY_LOG;
    // All texts are checked before the first is written.
    for (const [, texts] of await byExtent(writer, log, state, wanted)) {
      await planExtent(writer, log, texts);
    }
    await writer.scrubJournal();
    const extents = await byExtent(writer, log, state, wanted);
    // A page has as many extents as one frame takes.
    for (const page of groupsOf(extents.values(), FRAME_BYTES_MAX, ({ bytes }) => bytes)) {
      await writer.exclusively(() => overwrite(writer, log, page));
    }
    await writer.scrubJournal();
  });
}

/** The texts of one extent, by line. */
interface ExtentTexts {
  readonly index: number;
  readonly bytes: number;
  readonly texts: ReadonlyMap<number, string>;
}

async function byExtent(
  { core }: StateWriter,
  log: string,
  state: LogState,
  wanted: ReadonlyMap<number, string>,
): Promise<Map<number, ExtentTexts>> {
  const extents = new Map<number, ExtentTexts>();
  for (const [line, text] of wanted) {
    // Throws for a line that does not exist.
    if (line >= state.lines) padLine(log, line, undefined, text);
    const index = await extentOfLine(core.files, log, state, line);
    const known = extents.get(index);
    if (known !== undefined) {
      extents.set(index, { ...known, texts: new Map([...known.texts, [line, text]]) });
      continue;
    }
    const before = await readExtent(core.files, log, index - 1);
    const { endOffset } = await readExtent(core.files, log, index);
    const bytes = endOffset - before.endOffset;
    extents.set(index, { index, bytes, texts: new Map([[line, text]]) });
  }
  return extents;
}

async function overwrite(
  writer: StateWriter,
  log: string,
  page: readonly ExtentTexts[],
): Promise<void> {
  const writes: JournalWrite[] = [];
  for (const texts of page) writes.push(...(await planExtent(writer, log, texts)));
  const quarantine = await Quarantine.load(writer.core.files);
  if (quarantine.copies.length > 0) {
    const ranges = writes.flatMap((write) =>
      write.kind === 'bytes'
        ? [{ file: write.path, offset: write.offset, length: write.data.length }]
        : [],
    );
    await quarantine.erase(log, ranges);
  }
  await writer.storeWrites(writes);
}

/** The lines of an extent with other texts among them, and the extent that describes them. */
async function planExtent(
  { core }: StateWriter,
  log: string,
  { index, texts }: ExtentTexts,
): Promise<JournalWrite[]> {
  const before = await readExtent(core.files, log, index - 1);
  const extent = await readExtent(core.files, log, index);
  const lines = await readExtentLines(core.files, log, { before, extent });
  for (const [line, text] of texts) {
    const at = line - before.endLine;
    lines[at] = padLine(log, line, lines[at], text);
  }
  const data = encodeUtf8(`${lines.join('\n')}\n`);
  const described = encodeLogExtent({ ...extent, contentCrc: crc32(data) });
  return [
    { kind: 'bytes', path: log, offset: before.endOffset, data },
    { kind: 'bytes', path: extentsFile(log), offset: index * LOG_EXTENT_BYTES, data: described },
  ];
}
