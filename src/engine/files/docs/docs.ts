import { orNothing } from '../../../base/errors.ts';
import { encodeUtf8 } from '../../../base/text.ts';
import { readContextMeta, fieldsOf } from '../../context-meta.ts';
import { corrupt } from '../disk/io-error.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import {
  contextOf,
  type DocItem,
  DOCS_FILE,
  docsIn,
  type GoodDoc,
  noteMoves,
  readDoc,
  walkDocs,
} from './doc-log.ts';
import type { DocPlace } from '../index/shelf.ts';
import type { Index } from '../index/store-index.ts';
import { type Check, checkLengths, type Found, staleIndex, lost } from '../truth/check.ts';
import type { CopyJob } from '../truth/copy.ts';
import type { State } from '../truth/state.ts';
import type { Mend, Rebuild, Truth } from '../truth/truth.ts';
import { crc32 } from '../../../format/bytes.ts';
import type { DocRecord } from '../../../format/doc-record.ts';
import { FILE_MAGIC, OPEN_FILE_HEADER_BYTES } from '../../../format/file-header.ts';

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

// Versions are checked per name, which needs the names in memory. So a long docs.log is read several times, each
// time for a share of the names, by their checksum.

/** No record is shorter: header, a name, a content, checksum. */
const RECORD_BYTES_MIN = 34;
/** About 200 bytes each. */
const NAMES_AT_ONCE = 250_000;

interface Newest {
  readonly offset: number;
  readonly version: number;
  readonly removed: boolean;
  readonly published: boolean;
  /** Of the document of a context: the name that the context has. */
  readonly named: string | undefined;
}

async function checkDocs(check: Check): Promise<void> {
  const { findings, snapshot, files } = check;
  const { docsBytes } = snapshot.tails;
  const records = (docsBytes - OPEN_FILE_HEADER_BYTES) / RECORD_BYTES_MIN;
  const passes = Math.max(1, Math.ceil(records / NAMES_AT_ONCE));
  let damaged = false;
  for (let pass = 0; pass < passes; pass += 1) {
    const newest = new Map<string, Newest>();
    for await (const item of walkDocs(files, docsBytes)) {
      if (item.kind === 'bad') {
        damaged = true;
        findings.add(damagedDoc('the document record here is damaged', item));
        continue;
      }
      if (pass === 0) {
        await checkRecord(check, item);
        noteMoves(check.moves, item);
      }
      if (passes > 1 && crc32(encodeUtf8(item.record.name)) % passes !== pass) continue;
      takeVersion(check, item, newest);
    }
    for (const [name, doc] of newest) {
      // An index built from a damaged log may not know what comes after the damage.
      if (!damaged) checkIndexed(check, name, doc);
      if (doc.published && !doc.removed) await checkPublished(check, name);
      if (doc.named !== undefined && !damaged) await checkName(check, name, doc.named);
    }
  }
}

async function checkRecord({ findings }: Check, item: GoodDoc): Promise<void> {
  findings.counts.docs += 1;
  await findings.breathe(item.length, 'docs');
  const { name, content } = item.record;
  if (content === undefined) return;
  const what = !isJson(content)
    ? 'the content of the document is not JSON'
    : contextOf(name) !== undefined && readContextMeta(content) === undefined
      ? 'the document does not describe a context'
      : undefined;
  if (what !== undefined) findings.add({ ...damagedDoc(what, item), id: name });
}

/** A new content has a new version. A removal keeps the version that it removes. */
function takeVersion({ findings }: Check, item: GoodDoc, newest: Map<string, Newest>): void {
  const { name, version, content, published }: DocRecord = item.record;
  const before = newest.get(name)?.version ?? 0;
  const removed = content === undefined;
  if (removed ? version < before : version <= before) {
    const what = `version ${version} of the document comes after version ${before}`;
    findings.add({ ...damagedDoc(what, item), id: name });
  }
  const named = contextOf(name) === undefined ? undefined : nameIn(content);
  newest.set(name, { offset: item.offset, version, removed, published, named });
}

function nameIn(content: string | undefined): string | undefined {
  return content === undefined ? undefined : readContextMeta(content)?.name;
}

/** The index leads from a name to one context: if two contexts have it, one of them is not found. */
async function checkName(
  { core, findings, writer }: Check,
  document: string,
  name: string,
): Promise<void> {
  const id = contextOf(document) ?? 0;
  if (core.index.findName(name) === id) return;
  await writer.exclusively(async () => {
    const holder = core.index.findName(name);
    if (holder === id || !(await hasName(core, id, name))) return;
    if (holder === undefined || !(await hasName(core, holder, name))) {
      findings.add(staleIndex(`the index does not know the name of context ${id}`, String(id)));
      return;
    }
    const what = `contexts ${holder} and ${id} have the same name; rename one of them`;
    const offset = core.index.findDoc(document)?.offset ?? 0;
    findings.add({ ...lost(DOCS_FILE, offset, what), id: String(id) });
  });
}

function checkIndexed({ core, findings, snapshot }: Check, name: string, doc: Newest): void {
  const place = core.index.findDoc(name);
  // The document was written again since the snapshot.
  if (place !== undefined && place.offset >= snapshot.tails.docsBytes) return;
  const same =
    place?.offset === doc.offset && place.version === doc.version && place.removed === doc.removed;
  if (!same) findings.add(staleIndex(`the index is wrong about document ${name}`, name));
}

/** False also when the head is damaged, which the check of heads reports. */
async function hasName(core: State, context: number, name: string): Promise<boolean> {
  const read = async (): Promise<boolean> => {
    const isThere = (await core.getHead(context))?.removed === false;
    return isThere && (await core.getContextMeta(context)).name === name;
  };
  return (await orNothing(read, 'CORRUPT')) ?? false;
}

/** Checks the plain file, which is for others to read. The document is the truth. */
async function checkPublished(
  { core, files, findings, writer }: Check,
  name: string,
): Promise<void> {
  await writer.exclusively(async () => {
    const place = core.index.findDoc(name);
    if (place === undefined || place.removed) return;
    const expected = await publishedContent(files, name, place);
    if (expected === undefined) return;
    // The size is looked up by name: a file whose name was removed can still be read for a while.
    const length = await files.size(name);
    const found = await files.read(name, 0, expected.length);
    if (length === expected.length && Buffer.compare(expected, found) === 0) return;
    const what = 'the published file is not what the document says';
    const about = { file: name, offset: 0, id: name, length };
    findings.add({ what, ...about, severity: 'stale', remedy: 'publish' });
  });
}

/** Undefined for a document that is not published, or is damaged. That damage is reported at its place. */
async function publishedContent(
  files: StoreFiles,
  name: string,
  place: DocPlace,
): Promise<Uint8Array | undefined> {
  const record = await orNothing(() => readDoc(files, name, place), 'CORRUPT');
  const isShown = record?.published === true && record.content !== undefined;
  return isShown ? encodeUtf8(record.content) : undefined;
}

function damagedDoc(what: string, { offset, length }: DocItem): Found {
  return lost(DOCS_FILE, offset, what, length);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    // SyntaxError: the answer.
    return false;
  }
}
