import type { JournalWrite } from '../../../format/journal-frame.ts';
import {
  ALIASES_FILE,
  HEADS_FILE,
  packNumber,
  PATCHES_FILE,
  TURNS_FILE,
  TYPES_FILE,
} from '../names.ts';

// Writes that are durable in the journal and have not reached their files yet, because the disk was full or because
// their commit was acknowledged first. Reads look through to them, so neither case changes an answer.

/** Files that only this process reads, and only through `StoreFiles`. */
const OWN_FILES: ReadonlySet<string> = new Set([
  TURNS_FILE,
  HEADS_FILE,
  PATCHES_FILE,
  TYPES_FILE,
  ALIASES_FILE,
]);

/**
 * Whether these writes may reach their files after they were acknowledged. Writes to documents and logs may not,
 * because others read them by name. Writes that make or remove listed files may not either: the first bytes of a
 * pack.
 */
export function mayWait(writes: readonly JournalWrite[]): boolean {
  return writes.every((write) => {
    if (write.kind !== 'bytes') return false;
    return OWN_FILES.has(write.path) || (write.offset > 0 && packNumber(write.path) !== undefined);
  });
}

/** Brings `into`, which holds `got` bytes of the file `name` from `position` on, up to date. */
export function readThrough(
  waiting: readonly JournalWrite[],
  name: string,
  { into, position, got }: { into: Uint8Array; position: number; got: number },
): number {
  let filled = got;
  for (const write of waiting) {
    if (write.path !== name) continue;
    if (write.kind === 'remove' || write.kind === 'whole') filled = 0;
    if (write.kind === 'remove' || write.kind === 'extent') continue;
    const offset = write.kind === 'whole' ? 0 : write.offset;
    const end = Math.min(into.length, offset + write.data.length - position);
    if (end > filled) {
      // Where a file grows without a write, the new bytes read as zeros.
      into.fill(0, filled, end);
      filled = end;
    }
    const from = Math.max(position, offset);
    const to = Math.min(position + into.length, offset + write.data.length);
    if (from < to) {
      into.set(write.data.subarray(from - offset, to - offset), from - position);
    }
  }
  return filled;
}

/** The sorted names in a folder, which has `names` now, once all waiting writes are done. */
export function namesThrough(
  waiting: readonly JournalWrite[],
  folder: string,
  names: readonly string[],
): string[] {
  const through = new Set(names);
  for (const { kind, path } of waiting) {
    if (!path.startsWith(`${folder}/`)) continue;
    const [name = '', ...below] = path.slice(folder.length + 1).split('/');
    if (kind === 'bytes' || kind === 'whole') through.add(name);
    // A folder stays when its files are removed.
    if (kind === 'remove' && below.length === 0) through.delete(name);
  }
  return [...through].sort();
}

/** The size of the file `name`, which has `size` bytes now, once all waiting writes are done. */
export function sizeThrough(waiting: readonly JournalWrite[], name: string, size: number): number {
  let reached = size;
  for (const write of waiting) {
    if (write.path !== name) continue;
    if (write.kind === 'remove') reached = 0;
    if (write.kind === 'whole') reached = write.data.length;
    if (write.kind === 'bytes') reached = Math.max(reached, write.offset + write.data.length);
  }
  return reached;
}
