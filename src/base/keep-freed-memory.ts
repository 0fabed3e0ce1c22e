/** The largest block whose release glibc learns from is 32 MiB. This size leaves room for glibc's own header. */
const BLOCK_BYTES = 31 * 1024 * 1024;

let isDone = false;

/**
 * For who takes and drops large blocks all the time. glibc returns what is free at the end of its heap to the
 * system once that is twice the largest block that it had from the system and gave back: after every garbage
 * collection, when the blocks of a page are. The next ones come page fault by page fault, and to fill 640 KB took
 * 500 µs instead of 16. Here it gets a larger block to give back, which nobody ever touches, and keeps up to twice
 * as much free memory from then on. Where the allocator is another one, nothing changes.
 */
export function keepFreedMemory(): void {
  if (isDone) return;
  isDone = true;
  Buffer.allocUnsafeSlow(BLOCK_BYTES);
}
