import * as statements from './records-statements.ts';
import type { Hash, TurnId } from '../../../base/brand.ts';
import { bytesToHash, hexOf } from '../../../base/hash.ts';
import type { Database } from '../../../postgres/database.ts';
import type { DocEntry, PatchEntry, Records, Sha256Name, TurnEntry } from '../../adoption.ts';
import type { DocRow } from '../../rows.ts';
import { toPatchRow } from './record-reader.ts';
import type { PatchColumns } from './record-reader.ts';
import { toTurnRow } from './turn-rows.ts';
import type { TurnColumns } from './turn-rows.ts';

const PAGE_ROWS = 1024;

/** The reads of the tables for a copy, page by page. Each page is of one moment. */
export class PostgresRecords implements Records {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async turns(from: TurnId, limit: number): Promise<readonly TurnEntry[]> {
    const first = Math.max(1, Number(from));
    const rows = await this.#database.query<TurnColumns & { number: number; gone_key: Uint8Array }>(
      statements.TURN_ENTRIES,
      [first, first + limit],
    );
    return rows.map((columns): TurnEntry => {
      const id = BigInt(columns.number) as TurnId;
      if (columns.id === null) {
        const { gone_key: key } = columns;
        return { id, gone: true, ...(key !== null && { key: new Uint8Array(key) }) };
      }
      const { key } = columns;
      return { id, row: toTurnRow(columns), ...(key !== null && { key: new Uint8Array(key) }) };
    });
  }

  async patches(from: number, limit: number): Promise<readonly PatchEntry[]> {
    const first = Math.max(1, from);
    const rows = await this.#database.query<
      PatchColumns & { number: number; fs_root: boolean; replaced: boolean }
    >(statements.PATCH_ENTRIES, [first, first + limit]);
    return rows.map((columns): PatchEntry => {
      const { number: seq, fs_root: isRoot, replaced, created_at: createdAt } = columns;
      if (columns.seq === null) return { seq, gone: true };
      const patch = toPatchRow(columns);
      if (!isRoot) return { seq, patch };
      const { turn, payload: root } = patch;
      return { seq, fsRoot: { turn, root, seq }, createdAt, replaced };
    });
  }

  async *sha256Names(): AsyncGenerator<readonly Sha256Name[]> {
    type Row = { sha256: Uint8Array; hash: Uint8Array };
    for await (const page of this.#pages<Row>(statements.SHA256_NAMES, ({ sha256 }) => sha256)) {
      yield page.map(({ sha256, hash }) => ({ sha256: hexOf(sha256), hash: bytesToHash(hash) }));
    }
  }

  async *erased(): AsyncGenerator<readonly Hash[]> {
    type Row = { hash: Uint8Array };
    for await (const page of this.#pages<Row>(statements.ERASED, ({ hash }) => hash)) {
      yield page.map(({ hash }) => bytesToHash(hash));
    }
  }

  async docs(names: readonly string[]): Promise<readonly DocEntry[]> {
    const rows = await this.#database.query<DocRow & { published: boolean }>(
      statements.DOC_ENTRIES,
      [names],
    );
    return rows.map(({ published, ...row }) => ({ row, published }));
  }

  async *#pages<R extends object>(
    statement: { readonly name: string; readonly text: string },
    at: (row: R) => Uint8Array,
  ): AsyncGenerator<readonly R[]> {
    for (let after: Uint8Array = Buffer.alloc(0); ;) {
      const page = await this.#database.query<R>(statement, [after, PAGE_ROWS]);
      const last = page.at(-1);
      if (last === undefined) return;
      yield page;
      after = at(last);
    }
  }
}
