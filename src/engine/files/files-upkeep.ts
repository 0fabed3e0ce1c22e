import type { Hash, KeyHash, TurnId } from '../../base/brand.ts';
import type {
  Adoption,
  Records,
  DocEntry,
  PatchEntry,
  Sha256Name,
  TurnEntry,
} from '../adoption.ts';
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
import { corrupt, toQuipuError } from './disk/io-error.ts';
import type { Writer } from './commit/writer.ts';
import { type PatchRecord } from '../../format/patch-record.ts';
import { keyHashToBytes } from '../../format/idempotency.ts';
import { ALIAS_RECORDS } from './packs/pack-file.ts';
import { PATCH_RECORDS, readFsRoots } from './patches/patches.ts';
import { TURN_RECORDS } from './turns/turn-table.ts';
import { readDoc } from './docs/doc-log.ts';

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

/** The reads of the files for a copy. Each page is read between two commits: nothing moves meanwhile. */
class FilesRecords implements Records {
  readonly #writer: Writer;

  constructor(writer: Writer) {
    this.#writer = writer;
  }

  turns(from: TurnId, limit: number): Promise<readonly TurnEntry[]> {
    return this.#writer.exclusively(async () => {
      const first = Math.max(1, Number(from));
      const next = Math.min(this.#writer.core.tails.nextTurn, first + limit);
      const entries: TurnEntry[] = [];
      // The last turn is read first: reading a turn also brings the older ones beside it into memory.
      for (let id = next - 1; id >= first; id -= 1) entries.push(await this.#turn(id));
      return entries.reverse();
    });
  }

  async #turn(number: number): Promise<TurnEntry> {
    const { core } = this.#writer;
    const id = BigInt(number) as TurnId;
    const stored = await core.findTurn(number);
    if (stored !== undefined) {
      const { row, idempotency } = stored;
      return { id, row, ...keyOf(idempotency) };
    }
    const record = await TURN_RECORDS.read(core.files, number);
    return { id, gone: true, ...keyOf(record?.idempotency) };
  }

  patches(from: number, limit: number): Promise<readonly PatchEntry[]> {
    return this.#writer.exclusively(async () => {
      const { core } = this.#writer;
      const first = Math.max(1, from);
      const count = Math.min(limit, core.tails.nextPatch - first);
      if (count <= 0) return [];
      const entries: PatchEntry[] = [];
      for (let seq = first; seq < first + count; seq += 1) {
        entries.push(await this.#patch(await PATCH_RECORDS.mustRead(core.files, seq)));
      }
      return entries;
    });
  }

  async #patch({ fsRoot: isRoot, ...patch }: PatchRecord): Promise<PatchEntry> {
    const { core } = this.#writer;
    const { seq, turn, payload: root, createdAt } = patch;
    if (turn === 0n || core.isCollected(Number(turn))) return { seq, gone: true };
    if (!isRoot) return { seq, patch };
    const [newest] = await readFsRoots(core.files, core.patchesOf([Number(turn)]));
    return { seq, fsRoot: { turn, root, seq }, createdAt, replaced: newest?.seq !== seq };
  }

  async *sha256Names(): AsyncGenerator<readonly Sha256Name[]> {
    const { files, tails } = this.#writer.core;
    for await (const page of ALIAS_RECORDS.pages(files, tails.nextAlias)) {
      yield page.map(({ number, record }) => {
        if (record !== undefined) return record;
        throw corrupt(ALIAS_RECORDS.name, number * ALIAS_RECORDS.bytes, 'the record is damaged');
      });
    }
  }

  async *erased(): AsyncGenerator<readonly Hash[]> {
    const { core } = this.#writer;
    yield [...core.erased].filter((hash) => !core.hasBlob(hash));
  }

  docs(names: readonly string[]): Promise<readonly DocEntry[]> {
    return this.#writer.exclusively(async () => {
      const { core } = this.#writer;
      const entries: DocEntry[] = [];
      for (const name of names) {
        const place = core.findDoc(name);
        if (place === undefined || place.removed) continue;
        const { version, content = '', published } = await readDoc(core.files, name, place);
        entries.push({ row: { name, version, content }, published });
      }
      return entries;
    });
  }
}

function keyOf(hash: KeyHash | undefined): { key?: Uint8Array } {
  return hash === undefined ? {} : { key: keyHashToBytes(hash) };
}
