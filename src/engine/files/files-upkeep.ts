import type { Hash } from '../../base/brand.ts';
import type { Adoption, Records } from '../adoption.ts';
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
import { FilesRecords } from './files-records.ts';
import { toQuipuError } from './disk/io-error.ts';
import type { Writer } from './commit/writer.ts';

/**
 * Upkeep of a folder of files. Each task has its own folder beside this file. The tasks are a third of the engine's
 * modules, and most processes use none, so each task is loaded on first use.
 */
export class FilesUpkeep implements Upkeep {
  readonly records: Records;
  readonly #writer: Writer;

  constructor(writer: Writer) {
    this.#writer = writer;
    this.records = new FilesRecords(writer);
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
    const { eraseBlob } = await import('./collect/erase-blob.ts');
    await eraseBlob(this.#writer, hash);
  }

  async eraseLines(log: string, erasures: readonly LineErasure[]): Promise<void> {
    const { eraseLines } = await import('./logs/erase-lines.ts');
    await eraseLines(this.#writer, log, erasures);
  }

  async backup(to: string, progress?: Progress, also?: () => Promise<void>): Promise<BackupReport> {
    const { backupStore } = await import('./backup/backup-store.ts');
    return backupStore(this.#writer, to, { progress, also });
  }

  async adopt(adoption: Adoption): Promise<void> {
    const batch = { changes: {}, blobs: [], extents: [], relies: [], adoption };
    const prepared = { batch, jobs: [], release: () => undefined };
    try {
      await this.#writer.upkeep('adopting', () => this.#writer.submit(prepared));
    } catch (error) {
      throw toQuipuError(error, this.#writer.core.files.root);
    }
  }
}
