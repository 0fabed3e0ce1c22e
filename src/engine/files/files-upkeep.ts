import type { Hash } from '../../base/brand.ts';
import type { Progress } from '../progress.ts';
import type {
  BackupReport,
  CheckOptions,
  CheckReport,
  Collection,
  CollectionOptions,
  LineErasure,
  Upkeep,
} from '../upkeep.ts';
import type { Writer } from './writer.ts';

/**
 * Upkeep of a folder of files: each piece lives in a folder of its own beside this file. They are a third of the
 * engine's modules, and most processes use none, so each is loaded when it is asked for.
 */
export class FilesUpkeep implements Upkeep {
  readonly #writer: Writer;

  constructor(writer: Writer) {
    this.#writer = writer;
  }

  async startCollection(options: CollectionOptions): Promise<Collection> {
    const { startCollection } = await import('./collect/files-collection.ts');
    return startCollection(this.#writer, options);
  }

  async check(options: CheckOptions): Promise<CheckReport> {
    const { checkStore } = await import('./check/check-store.ts');
    return checkStore(this.#writer, options);
  }

  async eraseBlob(hash: Hash): Promise<void> {
    const { eraseBlob } = await import('./erase/erase-blob.ts');
    await eraseBlob(this.#writer, hash);
  }

  async eraseLines(log: string, erasures: readonly LineErasure[]): Promise<void> {
    const { eraseLines } = await import('./erase/erase-lines.ts');
    await eraseLines(this.#writer, log, erasures);
  }

  async backup(to: string, progress?: Progress): Promise<BackupReport> {
    const { backupStore } = await import('./backup/backup-store.ts');
    return backupStore(this.#writer, to, progress);
  }
}
