import { encodeFormatFile } from '../../../format/format-file.ts';
import type { JournalWrite } from '../../../format/journal-frame.ts';
import { extentsFile, FORMAT_FILE } from '../names.ts';
import { readFormat } from '../read-format.ts';
import type { Writer } from '../commit/writer.ts';
import { publishedContent } from '../docs/check-docs.ts';
import type { Found, Remedy } from './findings.ts';
import { HEADED_FILES, headerOf } from '../recovery/file-lengths.ts';
import { mendHeads } from '../heads/mend-heads.ts';
import { mendLog } from '../logs/mend-log.ts';
import type { Quarantine } from './quarantine.ts';

/**
 * Sets damaged bytes aside and rebuilds what can be rebuilt. Nothing is deleted. A published file is set aside
 * before it is rebuilt, because someone may have written to it on purpose.
 */
export async function repair(
  writer: Writer,
  found: readonly Found[],
  quarantine: Quarantine,
): Promise<void> {
  const having = (remedy: Remedy): readonly Found[] =>
    found.filter((problem) => problem.remedy === remedy);
  const lost = found.filter(({ severity }) => severity === 'lost');
  const heads = having('head');
  const anew = (['publish', 'header', 'format', 'stray'] as const).flatMap(having);
  const written = [...anew, ...heads];
  await quarantine.setAside([...new Set([...lost, ...written])], Date.now());
  for (const name of damagedLogs(lost)) await mendLog(writer, name, quarantine);
  for (const { file } of having('header')) await mendHeader(writer, file);
  if (having('format').length > 0) await mendFormat(writer);
  for (const { file } of having('stray')) await store(writer, { kind: 'remove', path: file });
  await mendHeads(writer, new Set(heads.map(({ id }) => Number(id))));
  // The index is rebuilt only when it is wrong: a rebuild from damaged files finds less than an older index has.
  const outdated = heads.length > 0 && writer.core.damage.places.length > 0;
  if (outdated || having('index').length > 0) await writer.reindex();
  for (const { file } of having('publish')) await publish(writer, file);
  // Two frames and two checkpoints: each of the two checkpoint files is rewritten.
  for (let times = 0; having('journal').length > 0 && times < 2; times += 1) {
    await writer.exclusively(() => writer.storeWrites([]));
    await writer.checkpoint();
  }
}

function damagedLogs(lost: readonly Found[]): Set<string> {
  const names = lost.flatMap(({ file, id }) =>
    id !== undefined && (file === id || file === extentsFile(id)) ? [id] : [],
  );
  return new Set(names);
}

/** Rewrites the header of a file. A header never changes. */
async function mendHeader(writer: Writer, name: string): Promise<void> {
  const headed = HEADED_FILES.find((file) => file.name === name);
  if (headed === undefined) return;
  await store(writer, { kind: 'bytes', path: name, offset: 0, data: headerOf(headed) });
}

async function mendFormat(writer: Writer): Promise<void> {
  const data = encodeFormatFile(await readFormat(writer.core.files));
  await store(writer, { kind: 'whole', path: FORMAT_FILE, data });
}

async function store(writer: Writer, write: JournalWrite): Promise<void> {
  await writer.exclusively(() => writer.storeWrites([write]));
}

async function publish(writer: Writer, name: string): Promise<void> {
  const { core } = writer;
  await writer.exclusively(async () => {
    const place = core.index.findDoc(name);
    if (place === undefined || place.removed) return;
    const data = await publishedContent(core.files, name, place);
    if (data === undefined) return;
    await writer.storeWrites([{ kind: 'whole', path: name, data }]);
  });
}
