import { dirname } from 'node:path';
import type { Io, IoFile } from '../../engine/io.ts';
import { coverFile } from '../sums/file-sums.ts';
import { draftPathOf } from '../log/write-file.ts';

/** A file that is being written and has no name yet that anyone would look for. */
export interface ArtifactDraft {
  readonly id: string;
  readonly file: IoFile;
  /** Opens a second file, for bytes that may have to be put elsewhere in the end. The draft removes it. */
  scratch(): Promise<IoFile>;
  /** Gives the file its name, durably. Nothing may be written to it any more. */
  publish(): Promise<void>;
  discard(): Promise<void>;
}

export async function openDraft(io: Io, path: string, id: string): Promise<ArtifactDraft> {
  const draft = draftPathOf(path);
  const file = await io.open(draft, 'create');
  let second: { readonly path: string; readonly file: IoFile } | undefined;
  const dropScratch = async (): Promise<void> => {
    const scratch = second;
    second = undefined;
    if (scratch === undefined) return;
    await scratch.file.close().catch(() => undefined);
    await io.remove(scratch.path);
  };
  return {
    id,
    file,
    async scratch() {
      const scratchPath = draftPathOf(path);
      second = { path: scratchPath, file: await io.open(scratchPath, 'create') };
      return second.file;
    },
    async publish() {
      try {
        await file.sync();
      } finally {
        await file.close();
      }
      await io.rename(draft, path);
      await io.syncDir(dirname(path));
      await coverFile(io, path, false).catch(() => undefined);
      // A second file that cannot be removed only takes space.
      await dropScratch().catch(() => undefined);
    },
    async discard() {
      await dropScratch().catch(() => undefined);
      await file.close().catch(() => undefined);
      await io.remove(draft).catch(() => undefined);
      // The file may have its name already, but nobody knows whether the name is durable.
      await io.remove(path).catch(() => undefined);
    },
  };
}
