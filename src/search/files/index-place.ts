import { existsSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { IndexPlace } from '../contract/search-index.ts';

const FILE = 'search.db';

/** The place of the index in the folder of a store. */
export function indexInFolder(folder: string): IndexPlace {
  const path = join(folder, FILE);
  return {
    exists: () => Promise.resolve(existsSync(path) && statSync(path).size > 0),
    async open(fingerprint) {
      const { FilesIndex } = await import('./files-index.ts');
      return new FilesIndex(path, fingerprint);
    },
    async remove() {
      removeSearchFiles(path);
    },
  };
}

export function removeSearchFiles(path: string): void {
  for (const ending of ['', '-wal', '-shm', '-journal']) {
    rmSync(`${path}${ending}`, { force: true });
  }
}
