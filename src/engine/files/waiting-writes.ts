import type { JournalWrite } from '../../format/journal-frame.ts';

// Writes that are durable in the journal and could not reach their files yet: reads look through to
// them, so that a full disk changes no answer.

/** Brings `into`, which holds `got` bytes of the file `name` from `position` on, up to date. */
export function readThrough(
  waiting: readonly JournalWrite[],
  name: string,
  { into, position, got }: { into: Uint8Array; position: number; got: number },
): number {
  let filled = got;
  for (const write of waiting) {
    if (write.path !== name) continue;
    if (write.kind === 'remove') filled = 0;
    if (write.kind !== 'bytes') continue;
    const end = Math.min(into.length, write.offset + write.data.length - position);
    if (end > filled) {
      // What a file grows by reads as zeros where nothing was written.
      into.fill(0, filled, end);
      filled = end;
    }
    const from = Math.max(position, write.offset);
    const to = Math.min(position + into.length, write.offset + write.data.length);
    if (from < to) {
      into.set(write.data.subarray(from - write.offset, to - write.offset), from - position);
    }
  }
  return filled;
}

/** The size of the file `name`, which has `size` bytes now, once everything that waits is written. */
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
