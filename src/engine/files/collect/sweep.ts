import type { Hash, TurnId } from '../../../base/brand.ts';
import { BLOB_OVERHEAD_BYTES } from '../../../format/blob-record.ts';
import { encodeCollectedMap, isCollected } from '../../../format/collected-map.ts';
import type { Progress } from '../../engine.ts';
import type { SweepPlan, SweepReport } from '../../upkeep.ts';
import { COLLECTED_FILE } from '../names.ts';
import { closePack } from '../plan/encode-packs.ts';
import type { Writer } from '../writer.ts';
import { type Age, wasThere } from './ages.ts';
import { planPacks, type PackUse } from './plan-packs.ts';
import { rewritePack } from './rewrite-pack.ts';

/** Free room that a copy must leave: commits go on meanwhile. */
const ROOM_TO_LEAVE_BYTES = 64 * 1024 * 1024;
/** The walk over the index gives way to commits this often. */
const WALK_STEP = 4096;

export interface SweepOptions {
  readonly plan: SweepPlan;
  readonly age: Age | undefined;
  readonly recent: Set<Hash>;
  readonly progress: Progress | undefined;
}

/** Carries a plan out, pack by pack. Each pack is left behind in one frame, or not at all. */
export class Sweep {
  readonly #writer: Writer;
  readonly #options: SweepOptions;

  constructor(writer: Writer, options: SweepOptions) {
    this.#writer = writer;
    this.#options = options;
  }

  /**
   * Before a byte goes, the turns that lose theirs stop being readable, so that nobody can fork from a
   * turn without a payload. Between two commits, because the answer of the plan may just have changed.
   */
  async collectTurns(next: number, open: ReadonlySet<number>): Promise<void> {
    const { core } = this.#writer;
    await this.#writer.exclusively(async () => {
      const bits = new Uint8Array(Math.ceil(next / 8));
      let changed = false;
      for (let id = 1; id < next; id += 1) {
        const before = isCollected(core.collected, id);
        const dead =
          before || !(open.has(id) || this.#options.plan.isLiveTurn(BigInt(id) as TurnId));
        if (!dead) continue;
        bits[Math.floor(id / 8)] = (bits[Math.floor(id / 8)] ?? 0) | (1 << (id % 8));
        changed ||= !before;
      }
      if (!changed) return;
      const map = { next, bits };
      const data = encodeCollectedMap(map);
      await this.#writer.storeWrites([{ kind: 'whole', path: COLLECTED_FILE, data }], () => {
        core.collected = map;
      });
    });
  }

  async run(): Promise<SweepReport> {
    const { plan, progress } = this.#options;
    const { rewrite, keptDeadBytes } = planPacks(await this.#measure(), plan.deadShare);
    const report = { removedBlobs: 0, freedBytes: 0, keptDeadBytes, skippedForSpace: 0 };
    for (const [done, use] of rewrite.entries()) {
      progress?.(done, rewrite.length, 'packs');
      if (!(await this.#hasRoomFor(use)) || !(await this.#close(use.pack))) {
        report.skippedForSpace += 1;
        report.keptDeadBytes += use.deadBytes;
        continue;
      }
      const { removedBlobs, freedBytes } = await rewritePack(this.#writer, use.pack, {
        isLive: (hash, offset) => this.#isKept(hash, use.pack, offset),
        recent: this.#options.recent,
      });
      report.removedBlobs += removedBlobs;
      report.freedBytes += freedBytes;
    }
    progress?.(rewrite.length, rewrite.length, 'packs');
    return report;
  }

  #isKept(hash: Hash, pack: number, offset: number): boolean {
    const { age, plan } = this.#options;
    if (age === undefined || !wasThere(age, pack, offset)) return true;
    return plan.isLive(hash) || this.#writer.held.has(hash);
  }

  async #measure(): Promise<PackUse[]> {
    const uses = new Map<number, { pack: number; liveBytes: number; deadBytes: number }>();
    let steps = 0;
    for (const { hash, pack, offset, storedLength } of this.#writer.core.index.walkBlobs()) {
      const use = uses.get(pack) ?? { pack, liveBytes: 0, deadBytes: 0 };
      uses.set(pack, use);
      const bytes = BLOB_OVERHEAD_BYTES + storedLength;
      if (this.#isKept(hash, pack, offset)) use.liveBytes += bytes;
      else use.deadBytes += bytes;
      steps += 1;
      if (steps % WALK_STEP === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    return [...uses.values()];
  }

  async #hasRoomFor({ liveBytes }: PackUse): Promise<boolean> {
    if (liveBytes === 0) return true;
    const { files } = this.#writer.core;
    return (await files.io.freeBytes(files.root)) >= liveBytes + ROOM_TO_LEAVE_BYTES;
  }

  /** A pack that still takes records is closed first; false when a put is writing to it. */
  async #close(number: number): Promise<boolean> {
    return this.#writer.exclusively(async () => {
      const { core } = this.#writer;
      const pack = core.tails.packs.find((open) => open.number === number);
      if (pack === undefined) return true;
      if (this.#writer.bulk.isBusy(number)) return false;
      await this.#writer.storeWrites([closePack(pack)]);
      return true;
    });
  }
}
