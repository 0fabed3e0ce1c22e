import type { Hash, TurnId } from '../../../base/brand.ts';
import { BLOB_OVERHEAD_BYTES, BlobCodec } from '../../../format/blob-record.ts';
import type { BlobEntry, Collection, CollectionOptions } from '../../upkeep.ts';
import { withCodes } from '../disk/io-error.ts';
import type { Writer } from '../commit/writer.ts';
import type { Core } from '../core/core.ts';
import { type Age, ageBefore, ageOf, wasThere } from '../journal/checkpoint-file.ts';
import { readPatchEdges } from '../patches/patches.ts';
import { readTurnEdges } from '../turns/turn-table.ts';
import { GiveWay } from './give-way.ts';
import { collectTurns, sweepPacks } from './sweep.ts';

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
      return toCollection(writer, age, recent, done);
    });
  } catch (error) {
    done();
    throw error;
  }
}

/**
 * Blobs that existed at `age` may go. Undefined: no blob is old enough. `recent` has the blobs that commits relied on
 * lately. The sweep empties that set as it advances.
 */
function toCollection(
  writer: Writer,
  age: Age | undefined,
  recent: Set<Hash>,
  done: () => void,
): Collection {
  const { core } = writer;
  const { nextTurn, nextPatch } = core.tails;
  /** Turns that were open when the collection began. They are alive, whether sealed meanwhile or not. */
  const open: ReadonlySet<number> = new Set(core.openTurns.keys());
  const way = new GiveWay(() => writer.settle());
  return {
    firstNewTurn: BigInt(nextTurn) as TurnId,
    openTurns: [...open].map((turn) => BigInt(turn) as TurnId),
    turns: () => inSteps(way, readTurnEdges(core, nextTurn, open)),
    patches: () => inSteps(way, readPatchEdges(core, nextPatch)),
    blobs: () => inSteps(way, readBlobs(core, age)),
    chunksOf: (hash) => core.blobs.chunksOf(hash),

    async sweep(plan, progress) {
      const options = { plan, age, recent, progress, way };
      return withCodes(core.files.root, async () => {
        await collectTurns(writer, options, nextTurn, open);
        return sweepPacks(writer, options);
      });
    },

    async end() {
      core.reliance = undefined;
      done();
    },
  };
}

function* readBlobs({ index }: Core, age: Age | undefined): Generator<readonly BlobEntry[]> {
  let page: BlobEntry[] = [];
  for (const place of index.flushed().walkBlobs()) {
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
async function* inSteps<T>(way: GiveWay, pages: AsyncIterable<T> | Iterable<T>): AsyncGenerator<T> {
  for await (const page of pages) {
    yield page;
    if (way.isDue) await way.breathe();
  }
}
