import type { Hash, TurnId } from '../../../base/brand.ts';
import { BLOB_OVERHEAD_BYTES, BlobCodec } from '../../../format/blob-record.ts';
import type { Progress } from '../../engine.ts';
import type {
  BlobEntry,
  Collection,
  CollectionOptions,
  PatchEdge,
  SweepPlan,
  SweepReport,
  TurnEdge,
} from '../../upkeep.ts';
import { toQuipuError } from '../disk/io-error.ts';
import type { Writer } from '../commit/writer.ts';
import { type Age, ageBefore, ageOf, wasThere } from '../journal/checkpoint-file.ts';
import { readPatchEdges } from '../patches/patches.ts';
import { readTurnEdges } from '../turns/turn-table.ts';
import { GiveWay } from './give-way.ts';
import { Sweep } from './sweep.ts';

const PAGE_RECORDS = 512;

/**
 * Begins a collection between two commits. From here on, everything that a commit relies on is noted before the
 * commit is acknowledged.
 */
export async function startCollection(
  writer: Writer,
  options: CollectionOptions,
): Promise<Collection> {
  const done = writer.takeUpkeep('a collection');
  try {
    return await writer.exclusively(async () => {
      const { core, nowMs } = writer;
      const now = ageOf(core.tails, nowMs);
      const age = options.graceMs === 0 ? now : ageBefore(writer.ages, nowMs, options.graceMs);
      const recent = new Set<Hash>();
      core.reliance = {
        blob(hash) {
          recent.add(hash);
          options.reliance.blob(hash);
        },
        turn: (turn) => options.reliance.turn(turn),
      };
      return new FilesCollection(writer, { age, recent, done });
    });
  } catch (error) {
    done();
    throw error;
  }
}

interface Started {
  /** Blobs that existed at this time may go. Undefined: no blob is old enough. */
  readonly age: Age | undefined;
  /** Blobs that commits relied on lately. The sweep empties this set as it advances. */
  readonly recent: Set<Hash>;
  readonly done: () => void;
}

class FilesCollection implements Collection {
  readonly firstNewTurn: TurnId;
  readonly openTurns: readonly TurnId[];
  readonly #writer: Writer;
  readonly #started: Started;
  /** Turns that were open when the collection began. They are alive, whether sealed meanwhile or not. */
  readonly #open: ReadonlySet<number>;
  readonly #nextPatch: number;
  readonly #way: GiveWay;

  constructor(writer: Writer, started: Started) {
    const { core } = writer;
    this.#writer = writer;
    this.#started = started;
    this.firstNewTurn = BigInt(core.tails.nextTurn) as TurnId;
    this.#open = new Set(core.openTurns.keys());
    this.openTurns = [...this.#open].map((turn) => BigInt(turn) as TurnId);
    this.#nextPatch = core.tails.nextPatch;
    this.#way = new GiveWay({ settle: () => writer.settle() });
  }

  turns(): AsyncIterable<readonly TurnEdge[]> {
    const next = Number(this.firstNewTurn);
    return this.#inSteps(readTurnEdges(this.#writer.core, next, this.#open));
  }

  patches(): AsyncIterable<readonly PatchEdge[]> {
    return this.#inSteps(readPatchEdges(this.#writer.core, this.#nextPatch));
  }

  blobs(): AsyncIterable<readonly BlobEntry[]> {
    return this.#inSteps(this.#readBlobs());
  }

  *#readBlobs(): Generator<readonly BlobEntry[]> {
    const { age } = this.#started;
    let page: BlobEntry[] = [];
    for (const place of this.#writer.core.index.walkBlobs()) {
      const { hash, pack, offset, rawLength, storedLength, codec } = place;
      page.push({
        hash,
        size: rawLength,
        storedBytes: BLOB_OVERHEAD_BYTES + storedLength,
        old: age !== undefined && wasThere(age, pack, offset),
        chunked: codec === BlobCodec.chunks,
      });
      if (page.length < PAGE_RECORDS) continue;
      yield page;
      page = [];
    }
    yield page;
  }

  /** Commits go on between two pages, however fast the pages come. */
  async *#inSteps<T>(pages: AsyncIterable<T> | Iterable<T>): AsyncGenerator<T> {
    for await (const page of pages) {
      yield page;
      if (this.#way.isDue) await this.#way.breathe();
    }
  }

  async chunksOf(hash: Hash): Promise<readonly Hash[]> {
    return this.#writer.core.blobs.chunksOf(hash);
  }

  async sweep(plan: SweepPlan, progress?: Progress): Promise<SweepReport> {
    const { age, recent } = this.#started;
    const sweep = new Sweep(this.#writer, { plan, age, recent, progress, way: this.#way });
    try {
      await sweep.collectTurns(Number(this.firstNewTurn), this.#open);
      return await sweep.run();
    } catch (error) {
      throw toQuipuError(error, this.#writer.core.files.root);
    }
  }

  async end(): Promise<void> {
    this.#writer.core.reliance = undefined;
    this.#started.done();
  }
}
