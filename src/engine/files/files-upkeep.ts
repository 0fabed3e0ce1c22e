import type { Hash } from '../../base/brand.ts';
import type { Progress } from '../progress.ts';
import type {
  BackupReport,
  CheckOptions,
  CheckReport,
  Collection,
  CollectionOptions,
  Upkeep,
} from '../upkeep.ts';
import { backupStore } from './backup/backup-store.ts';
import { checkStore } from './check/check-store.ts';
import { startCollection } from './collect/files-collection.ts';
import { eraseBlob } from './erase/erase-blob.ts';
import type { Writer } from './writer.ts';

/** Upkeep of a folder of files: each piece lives in a folder of its own beside this file. */
export class FilesUpkeep implements Upkeep {
  readonly #writer: Writer;

  constructor(writer: Writer) {
    this.#writer = writer;
  }

  async startCollection(options: CollectionOptions): Promise<Collection> {
    return startCollection(this.#writer, options);
  }

  async check(options: CheckOptions): Promise<CheckReport> {
    return checkStore(this.#writer, options);
  }

  async eraseBlob(hash: Hash): Promise<void> {
    await eraseBlob(this.#writer, hash);
  }

  async backup(to: string, progress?: Progress): Promise<BackupReport> {
    return backupStore(this.#writer, to, progress);
  }
}
