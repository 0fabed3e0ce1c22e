import { fieldsOf } from '../../meta-fields.ts';
import { encodeUtf8 } from '../../../base/text.ts';
import { decodeDocRecord } from '../../../format/doc-record.ts';
import {
  FILE_MAGIC,
  OPEN_FILE_HEADER_BYTES,
  decodeFileHeader,
} from '../../../format/file-header.ts';
import { readContextMeta } from '../../context-meta.ts';
import { corrupt } from '../disk/io-error.ts';
import type { Index } from '../index/store-index.ts';
import { extentsFile } from '../logs/line-log.ts';
import { checkLengths } from '../truth/check.ts';
import type { CopyJob, PublishedPlace } from '../truth/copy.ts';
import type { Rebuild } from '../truth/rebuild.ts';
import type { Mend, Truth } from '../truth/truth.ts';
import { checkDocs, publishedContent } from './check-docs.ts';
import {
  DOCS_FILE,
  contextOf,
  docsIn,
  type GoodDoc,
  noteMoves,
  readWhole,
  walkDocs,
} from './doc-log.ts';

// Documents: every version of each, and a plain file of those that are published.    docs/format/docs-and-logs.md
// Invariants
// - Records are only appended. The last record of a name is its newest version, or says that it was removed.
// - A difference builds on an earlier record of the same name, so the way back to a whole content has an end.
// - The plain file of a published document is for others to read. The record is the truth.
// - `contexts/<number>` belongs to the engine. It is removed with its context, so heads are checked against it.

const PIECE_BYTES = 1024 * 1024;

export const DOCS: Truth = {
  name: 'docs',
  folders: ['docs'],
  files: [{ name: DOCS_FILE, header: { magic: FILE_MAGIC.docs, recordBytes: 0 } }],
  owns: () => false,
  lengths: ({ docsBytes }) => [[DOCS_FILE, docsBytes]],
  advance(tails, write) {
    if (write.kind !== 'bytes') return tails;
    const docsBytes = Math.max(tails.docsBytes, write.offset + write.data.length);
    return { ...tails, docsBytes };
  },
  replay({ index }, write) {
    if (write.kind !== 'bytes') return;
    for (const doc of docsIn(write.data, write.offset)) indexDoc(index, doc);
  },
  rebuild: rebuildDocs,
  async check(check) {
    await checkLengths(check, DOCS.lengths(check.snapshot.tails));
    await checkDocs(check);
  },
  mend: { after: 'index', run: publishAgain },
  copy: { ahead: copyRecords, noted: copyDocs },
};

function indexDoc(index: Index, { record, offset, length }: GoodDoc): void {
  const { name, version, content } = record;
  index.setDoc(name, { offset, length, version, removed: content === undefined });
  const context = contextOf(name);
  if (context === undefined) return;
  // A check reports content that cannot be read, and so does a read of it.
  const { name: given, kind, labels = [], meta } = readContextMeta(content ?? '{}') ?? {};
  index.setContextTags(context, { name: given, kind, labels, fields: fieldsOf(meta) });
}

async function rebuildDocs(rebuild: Rebuild): Promise<void> {
  const { files, tails, index, damage, progress, moves } = rebuild;
  for await (const item of walkDocs(files, tails.docsBytes)) {
    if (item.kind === 'bad') {
      const what = 'the document record here is damaged';
      damage.add({ area: 'docs', file: DOCS_FILE, offset: item.offset, what });
      continue;
    }
    indexDoc(index, item);
    noteMoves(moves, item);
    index.maybeFlush();
    progress?.(item.offset + item.length, tails.docsBytes, 'docs');
  }
}

/** Writes the plain files of published documents again. */
async function publishAgain({ writer, found }: Mend): Promise<void> {
  const { files, index } = writer.core;
  for (const { file: name, remedy } of found) {
    if (remedy !== 'publish') continue;
    await writer.exclusively(async () => {
      const place = index.findDoc(name);
      if (place === undefined || place.removed) return;
      const data = await publishedContent(files, name, place);
      if (data !== undefined) await writer.storeWrites([{ kind: 'whole', path: name, data }]);
    });
  }
}

async function copyDocs(job: CopyJob): Promise<void> {
  await copyRecords(job);
  for (const [name, place] of job.copied.published) await copyPublished(job, name, place);
}

/** Copies the records that the copy lacks, and notes the published files that they change. */
async function copyRecords({ from, into, copied, tails, progress }: CopyJob): Promise<void> {
  const end = tails.docsBytes;
  let start = copied.tails?.docsBytes ?? 0;
  if (start === 0) {
    const header = await from.read(DOCS_FILE, 0, OPEN_FILE_HEADER_BYTES);
    if (decodeFileHeader(header) === undefined) {
      throw corrupt(DOCS_FILE, 0, 'the header of the file is damaged');
    }
    await into.put(DOCS_FILE, 0, header);
    start = OPEN_FILE_HEADER_BYTES;
  }
  let gathered: Uint8Array[] = [];
  const flush = async (upTo: number): Promise<void> => {
    const bytes = Buffer.concat(gathered);
    gathered = [];
    if (bytes.length > 0) await into.put(DOCS_FILE, upTo - bytes.length, bytes);
    progress?.(upTo, end, DOCS_FILE);
  };
  let flushed = start;
  for await (const item of walkDocs(from, end, start)) {
    if (item.kind === 'bad') throw damagedAt(item.offset);
    const { record, offset, length, bytes } = item;
    // This is the same rule as when a document is written.
    if (record.content === undefined) copied.published.set(record.name, undefined);
    else if (record.published) copied.published.set(record.name, { offset, length });
    gathered.push(bytes);
    if (offset + length - flushed < PIECE_BYTES) continue;
    flushed = offset + length;
    await flush(flushed);
  }
  await flush(end);
}

/** Brings the plain file of that name to the last published state of the document. */
async function copyPublished(
  { from, into }: CopyJob,
  name: string,
  place: PublishedPlace,
): Promise<void> {
  // The name was given to a log since.
  if ((await from.size(extentsFile(name))) > 0) return;
  if (place === undefined) {
    if ((await into.files.size(name)) > 0) await into.remove(name);
    return;
  }
  const record = decodeDocRecord(await from.read(DOCS_FILE, place.offset, place.length));
  const content = record && (await readWhole(from, record, place.offset)).content;
  if (content === undefined) throw damagedAt(place.offset);
  await into.replace(name, encodeUtf8(content));
}

function damagedAt(offset: number): Error {
  return corrupt(DOCS_FILE, offset, 'the document record here is damaged');
}
