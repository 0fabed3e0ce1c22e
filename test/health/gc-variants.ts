import type { Io, IoFile } from '../../src/engine/io.ts';
import { packFile } from '../../src/engine/files/packs/pack-file.ts';
import { walkPack } from '../../src/engine/files/packs/walk-pack.ts';
import type { Writer } from '../../src/engine/files/commit/writer.ts';
import { encodeBlobRecord } from '../../src/format/blob-record.ts';
import { lyingIo } from '../crash/lying-io.ts';

// Collections with a known bug. Each leaves a pack behind before its living are safe elsewhere.

const isPack = (path: string): boolean => path.endsWith('.pack');

/** Never syncs what it copied. */
export function withoutCopySync(io: Io): Io {
  return lyingIo(io, { sync: async (file, path) => (isPack(path) ? undefined : file.sync()) });
}

/** Syncs what it copied when the old pack is gone, and not before. */
export function withLateCopySync(io: Io): Io {
  const late: IoFile[] = [];
  const lying = lyingIo(io, {
    sync: async (file, path) => (isPack(path) ? void late.push(file) : file.sync()),
  });
  return {
    ...lying,
    async remove(path) {
      await io.remove(path);
      for (const file of late.splice(0)) await file.sync().catch(() => undefined);
    },
  };
}

/** Removes a closed pack in one frame, and names the copy of its records in the next. */
export async function rewriteInWrongOrder(writer: Writer, pack: number): Promise<void> {
  const { files } = writer.core;
  const path = packFile(pack);
  const records: Uint8Array[] = [];
  await walkPack(files, pack, await files.size(path), (item) => {
    if (item.kind === 'blob') records.push(encodeBlobRecord(item));
  });
  const lease = await writer.bulk.lease();
  await lease.write(Buffer.concat(records));
  await lease.sync();
  await writer.exclusively(async () => {
    await writer.storeWrites([{ kind: 'remove', path }]);
    const length = lease.position - lease.start;
    const copy = {
      kind: 'extent',
      path: packFile(lease.pack),
      offset: lease.start,
      length,
    } as const;
    await writer.storeWrites([copy]);
  });
  await lease.release();
}
