import type { CopyJob } from './copy-job.ts';

/** Copies a small file as a whole, unless the copy is `trusted` to have the same. */
export async function copySmall(
  { from, into }: CopyJob,
  name: string,
  trusted: boolean,
): Promise<void> {
  const size = await from.size(name);
  const theirs = await into.files.size(name);
  if (size === 0) {
    if (theirs > 0) await into.remove(name);
    return;
  }
  const ours = await from.read(name, 0, size);
  if (trusted && Buffer.compare(ours, await into.files.read(name, 0, theirs)) === 0) return;
  await into.replace(name, ours);
}
