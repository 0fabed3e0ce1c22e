import { extentsFile } from '../names.ts';
import type { Writer } from '../writer.ts';
import { publishedContent } from './check-docs.ts';
import type { Found, Remedy } from './findings.ts';
import { mendLog } from './mend-log.ts';
import type { Quarantine } from './quarantine.ts';

/**
 * Sets damaged bytes aside and makes again what can be made again. Nothing is deleted; a published
 * file that is made again is set aside first, because someone may have written to it on purpose.
 */
export async function repair(
  writer: Writer,
  found: readonly Found[],
  quarantine: Quarantine,
): Promise<void> {
  const having = (remedy: Remedy): readonly Found[] =>
    found.filter((problem) => problem.remedy === remedy);
  const lost = found.filter(({ severity }) => severity === 'lost');
  await quarantine.setAside([...lost, ...having('publish')], Date.now());
  for (const name of damagedLogs(lost)) await mendLog(writer, name, quarantine);
  // Only when it is wrong: building it again from damaged files finds less than an index from before.
  if (having('index').length > 0) await writer.reindex();
  for (const { file } of having('publish')) await publish(writer, file);
  // Two frames and two checkpoints: each of the two checkpoint files is written anew.
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
