import { basename, join } from 'node:path';
import { encodeUtf8 } from '../../base/text.ts';
import { Artifacts } from '../artifacts/artifacts.ts';
import { referencesIn } from '../entries/blob-reference.ts';
import { persistEntry } from '../entries/persist-entry.ts';
import { toLine, type SessionEntry, type SessionHeader } from '../entries/session-entry.ts';
import { copyFile, type FilePlace } from '../files/carry-folder.ts';
import { makeFolders, writeAll, writeWhole } from '../files/write-file.ts';
import type { SessionsHome } from '../records/registry.ts';
import { SessionRefs } from '../records/session-refs.ts';

/** Gives a session that was in memory a file, and writes its artifacts, under the same ids. */
export async function persistSession(
  { io, engine, registry }: SessionsHome,
  session: {
    readonly header: SessionHeader;
    readonly artifacts: { readonly from: FilePlace; readonly to: string };
    readonly entries: AsyncIterable<SessionEntry>;
  },
  file: string,
): Promise<void> {
  const { header, artifacts, entries } = session;
  const refs = new SessionRefs(engine, header.id);
  await registry.put({ id: header.id, file });
  const { from, to } = artifacts;
  if ((await from.io.stat(from.path))?.kind === 'folder') {
    await makeFolders(io, to);
    const source = new Artifacts(from.io, from.path);
    for (const name of await source.listFiles()) {
      const path = join(to, basename(name));
      await copyFile({ io: from.io, path: join(from.path, name) }, { io, path });
    }
    await new Artifacts(io, to).raiseCounters(await source.counters());
  }
  await writeWhole(io, file, async (target) => {
    let at = 0;
    const add = async (record: unknown): Promise<void> => {
      const bytes = encodeUtf8(`${toLine(record)}\n`);
      await writeAll(target, bytes, at);
      at += bytes.length;
    };
    await add(header);
    for await (const entry of entries) {
      const persisted = persistEntry(entry);
      await refs.put(persisted.blobs, referencesIn(toLine(persisted.entry)));
      await add(persisted.entry);
    }
  });
}
