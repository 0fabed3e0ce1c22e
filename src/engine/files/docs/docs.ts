import { fieldsOf } from '../../meta-fields.ts';
import { encodeUtf8 } from '../../../base/text.ts';
import { FILE_MAGIC } from '../../../format/file-header.ts';
import { readContextMeta } from '../../context-meta.ts';
import { corrupt } from '../disk/io-error.ts';
import type { DocPlace } from '../index/shelf.ts';
import type { Index } from '../index/store-index.ts';
import { checkLengths } from '../truth/check.ts';
import type { CopyJob } from '../truth/copy.ts';
import type { Rebuild } from '../truth/rebuild.ts';
import type { Mend, Truth } from '../truth/truth.ts';
import { checkDocs, publishedContent } from './check-docs.ts';
import {
  DOCS_FILE,
  contextOf,
  docsIn,
  type GoodDoc,
  noteMoves,
  readDoc,
  walkDocs,
} from './doc-log.ts';

// Documents: every version of each, and a plain file of those that are published.    docs/format/docs-and-logs.md
// Invariants
// - Records are only appended. The last record of a name is its newest version, or says that it was removed.
// - A difference builds on an earlier record of the same name, so the way back to a whole content has an end.
// - The plain file of a published document is for others to read. The record is the truth.
// - `contexts/<number>` belongs to the engine. It is removed with its context, so heads are checked against it.

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
  copy: { when: 'after', run: copyDocs },
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
  const { from, into, logs, earlier } = job;
  const changed = new Map<string, DocPlace>();
  await into.stream(DOCS_FILE, earlier.tails.docsBytes, newRecords(job, changed));
  for (const [name, place] of changed) {
    // The name may have been given to a log.
    if (logs.has(name)) continue;
    const { content } = await readDoc(from, name, place);
    if (content === undefined) await into.remove(name);
    else await into.replace(name, encodeUtf8(content));
  }
}

/** The records that the copy lacks. Notes the documents whose plain files they change. */
async function* newRecords(
  { from, earlier, tails, progress }: CopyJob,
  changed: Map<string, DocPlace>,
): AsyncGenerator<Uint8Array> {
  const [start, end] = [earlier.tails.docsBytes, tails.docsBytes];
  for await (const item of walkDocs(from, end, start)) {
    const { offset, length } = item;
    if (item.kind === 'bad') {
      throw corrupt(DOCS_FILE, offset, 'the document record here is damaged');
    }
    const { name, version, content, published } = item.record;
    const removed = content === undefined;
    // This is the same rule as when a document is written.
    if (removed || published) changed.set(name, { offset, length, version, removed });
    yield item.bytes;
    progress?.(offset + length - start, end - start, DOCS_FILE);
  }
}
