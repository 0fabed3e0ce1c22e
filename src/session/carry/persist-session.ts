import { basename, join } from 'node:path';
import { encodeUtf8 } from '../../base/utf8.ts';
import { Artifacts } from '../artifacts/artifacts.ts';
import { persistEntry } from '../entries/persist-entry.ts';
import { toLine } from '../entries/session-entry.ts';
import type { SessionEntry, SessionHeader } from '../entries/session-entry.ts';
import { referencesIn } from '../keep/scan-references.ts';
import { SessionRefs } from '../keep/session-refs.ts';
import { makeFolders, writeAll, writeWhole } from '../log/write-file.ts';
import type { SessionsWorld } from '../sessions-world.ts';
import { copyFile } from './carry-folder.ts';
import type { FilePlace } from './carry-folder.ts';

/** Gives a session that was in memory a file, and writes its artifacts, under the same ids. */
export async function persistSession(
  { io, engine, registry }: SessionsWorld,
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
