import type { KeyHash, TurnId } from '../../base/brand.ts';
import { keyHashToBytes } from '../../format/idempotency.ts';
import type { DocEntry, PatchEntry, Records, TurnEntry } from '../adoption.ts';
import type { Upkeep } from '../upkeep.ts';
import type { Writer } from './commit/writer.ts';
import type { Core } from './core/core.ts';
import { corrupt, withCodes } from './disk/io-error.ts';
import { readDoc } from './docs/doc-log.ts';
import { ALIAS_RECORDS } from './packs/pack-file.ts';
import { PATCH_RECORDS, readFsRoots } from './patches/patches.ts';
import { TURN_RECORDS } from './turns/turn-table.ts';

/**
 * Upkeep of a folder of files. Each task has its own folder beside this file. The tasks are a third of the engine's
 * modules, and most processes use none, so each task is loaded on first use.
 */
export function filesUpkeep(writer: Writer): Upkeep {
  return {
    records: filesRecords(writer),

    async startCollection(options) {
      const { startCollection } = await import('./collect/files-collection.ts');
      return startCollection(writer, options);
    },

    async check(options) {
      const { checkStore } = await import('./check/check-store.ts');
      return checkStore(writer, options);
    },

    async eraseBlob(hash) {
      const { eraseBlob } = await import('./collect/erase-blob.ts');
      await eraseBlob(writer, hash);
    },

    async eraseLines(log, erasures) {
      const { eraseLines } = await import('./logs/erase-lines.ts');
      await eraseLines(writer, log, erasures);
    },

    async backup(to, progress, also) {
      const { backupStore } = await import('./backup/backup-store.ts');
      return backupStore(writer, to, { progress, also });
    },

    async adopt(adoption) {
      const batch = { changes: {}, blobs: [], extents: [], relies: [], adoption };
      const prepared = { batch, jobs: [], release: () => undefined };
      await withCodes(writer.core.files.root, () =>
        writer.upkeep('adopting', () => writer.submit(prepared)),
      );
    },
  };
}

/** The reads of the files for a copy. Each page is read between two commits: nothing moves meanwhile. */
function filesRecords(writer: Writer): Records {
  const { core } = writer;
  return {
    turns: (from, limit) =>
      writer.exclusively(async () => {
        const first = Math.max(1, Number(from));
        const next = Math.min(core.tails.nextTurn, first + limit);
        const entries: TurnEntry[] = [];
        // The last turn is read first: reading a turn also brings the older ones beside it into memory.
        for (let id = next - 1; id >= first; id -= 1) entries.push(await readTurn(core, id));
        return entries.reverse();
      }),

    patches: (from, limit) =>
      writer.exclusively(async () => {
        const first = Math.max(1, from);
        const end = Math.min(first + limit, core.tails.nextPatch);
        const entries: PatchEntry[] = [];
        for (let seq = first; seq < end; seq += 1) entries.push(await readPatch(core, seq));
        return entries;
      }),

    async *sha256Names() {
      for await (const page of ALIAS_RECORDS.pages(core.files, core.tails.nextAlias)) {
        yield page.map(({ number, record }) => {
          if (record !== undefined) return record;
          throw corrupt(ALIAS_RECORDS.name, number * ALIAS_RECORDS.bytes, 'the record is damaged');
        });
      }
    },

    async *erased() {
      yield [...core.erased].filter((hash) => !core.hasBlob(hash));
    },

    docs: (names) =>
      writer.exclusively(async () => {
        const entries: DocEntry[] = [];
        for (const name of names) {
          const place = core.findDoc(name);
          if (place === undefined || place.removed) continue;
          const { version, content = '', published } = await readDoc(core.files, name, place);
          entries.push({ row: { name, version, content }, published });
        }
        return entries;
      }),
  };
}

async function readTurn(core: Core, number: number): Promise<TurnEntry> {
  const id = BigInt(number) as TurnId;
  const stored = await core.findTurn(number);
  if (stored !== undefined) return { id, row: stored.row, ...keyOf(stored.idempotency) };
  const record = await TURN_RECORDS.read(core.files, number);
  return { id, gone: true, ...keyOf(record?.idempotency) };
}

async function readPatch(core: Core, number: number): Promise<PatchEntry> {
  const { fsRoot: isRoot, ...patch } = await PATCH_RECORDS.mustRead(core.files, number);
  const { seq, turn, payload: root, createdAt } = patch;
  if (turn === 0n || core.isCollected(Number(turn))) return { seq, gone: true };
  if (!isRoot) return { seq, patch };
  const [newest] = await readFsRoots(core.files, core.patchesOf([Number(turn)]));
  return { seq, fsRoot: { turn, root, seq }, createdAt, replaced: newest?.seq !== seq };
}

function keyOf(hash: KeyHash | undefined): { key?: Uint8Array } {
  return hash === undefined ? {} : { key: keyHashToBytes(hash) };
}
