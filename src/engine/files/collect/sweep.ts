import type { Hash, TurnId } from '../../../base/brand.ts';
import { encodeCollectedMap, isCollected } from '../../../format/collected-map.ts';
import type { Progress } from '../../engine.ts';
import type { SweepPlan, SweepReport } from '../../upkeep.ts';
import type { BlobPlace } from '../index/shelf.ts';
import { COLLECTED_FILE } from '../names.ts';
import { closePack } from '../plan/encode-packs.ts';
import type { Writer } from '../writer.ts';
import { type Age, wasThere } from './ages.ts';
import { dropLists } from './drop-lists.ts';
import { measurePacks } from './measure-packs.ts';
import { planPacks, type PackUse } from './plan-packs.ts';
import { rewritePack } from './rewrite-pack.ts';

/** Free room that a copy must leave: commits go on meanwhile. */
const ROOM_TO_LEAVE_BYTES = 64 * 1024 * 1024;

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
    const isKept = ({ hash, pack, offset }: BlobPlace): boolean => this.#isKept(hash, pack, offset);
    const uses = await measurePacks(this.#writer.core.index, isKept);
    const { rewrite, keptDeadBytes } = planPacks(uses, plan.deadShare);
    const report = { removedBlobs: 0, freedBytes: 0, keptDeadBytes, skippedForSpace: 0 };
    report.removedBlobs += await dropLists(this.#writer, isKept);
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
      return this.#writer.bulk.withoutPuts(number, () =>
        this.#writer.storeWrites([closePack(pack)]),
      );
    });
  }
}
