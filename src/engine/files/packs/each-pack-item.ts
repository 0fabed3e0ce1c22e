import { type OnPackItem, walkPack } from './rebuild-packs.ts';
import type { PackItem } from './pack-file.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import { streamPack } from './stream-pack.ts';

/**
 * Calls back for every record of a pack, like `walkPack`. Fast while nothing is wrong. From the first doubt on, it
 * reads a record at a time and past damaged bytes. The bytes of an item are valid only until the callback, or the
 * promise that it returned, is done.
 */
export async function eachPackItem(
  files: StoreFiles,
  pack: { readonly number: number; readonly length: number },
  onItem: OnPackItem,
): Promise<void> {
  const done = await streamPack(files, pack, onItem);
  if (done === pack.length) return;
  await walkPack(files, pack.number, pack.length, (item) =>
    startOf(item) >= done ? onItem(item) : undefined,
  );
}

function startOf(item: PackItem): number {
  if (item.kind === 'header') return 0;
  return item.kind === 'end' ? item.length : item.offset;
}
