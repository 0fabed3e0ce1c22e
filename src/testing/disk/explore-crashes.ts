import { messageOf } from '../../base/errors.ts';
import { mixHashes } from './content.ts';
import { crashImages } from './crash-states.ts';
import type { CrashImage } from './crash-states.ts';
import type { DiskSnapshot } from './disk-state.ts';
import { MemoryIo } from './memory-io.ts';
import { describeOperation } from './operation.ts';
import { SeededRandom } from './seeded-random.ts';

// Crashes a workload before each of its operations, in many ways, and has every outcome checked.
//
// The workload runs once. Before each operation that follows a change, the explorer takes a snapshot of the disk
// together with the facts noted so far. The crashes are played from the snapshots afterwards.

export interface CrashPoint {
  /** The operation that did not happen any more; `end` after the last one. */
  readonly before: string;
  /** True when the crash came during the recovery from an earlier crash. */
  readonly nested: boolean;
  /** The hash of the disk as the crash left it. */
  readonly image: number;
  /** Call this when recovery is over: later operations of the check are not crashed again. */
  recovered(): void;
}

export interface CrashExploration<Fact> {
  readonly seed: number;
  /** The number of disk images drawn at each crash point, equal ones included. */
  readonly statesPerPoint: number;
  /** The number of crashes during recovery drawn at each crash point. */
  readonly nestedPerPoint?: number;
  /** The disk as the workload finds it; an empty one by default. */
  readonly start?: MemoryIo;
  /** `note` is the oracle: it records each request and each acknowledgement in the moment it happens. */
  run(disk: MemoryIo, note: (fact: Fact) => void): Promise<void>;
  /** Recovers the disk, and throws when a promise is broken, given the facts noted before the crash. */
  check(disk: MemoryIo, facts: readonly Fact[], crash: CrashPoint): Promise<void>;
}

export interface CrashCount {
  points: number;
  /** The number of checks: an image with the facts at its point, each pair once. */
  states: number;
  /** The number of these checks after a crash during recovery. */
  nested: number;
  /** The number of disks that differ in a name or a byte. */
  distinctDisks: number;
}

export async function exploreCrashes<Fact>(
  exploration: CrashExploration<Fact>,
): Promise<CrashCount> {
  const facts: Fact[] = [];
  const disk = exploration.start?.copy() ?? new MemoryIo();
  const recorder = new Recorder(disk, () => facts.length);
  await exploration.run(disk, (fact) => facts.push(fact));
  const moments = recorder.stop();

  const explorer = new Explorer(exploration);
  for (const [index, moment] of moments.entries()) {
    await explorer.explore(
      moment,
      facts.slice(0, moment.factCount),
      mixHashes(exploration.seed, index),
    );
  }
  return explorer.count;
}

const NESTED_PER_RECOVERY = 4;

interface Moment {
  readonly before: string;
  readonly snapshot: DiskSnapshot;
  readonly factCount: number;
}

class Recorder {
  readonly #disk: MemoryIo;
  readonly #countFacts: () => number;
  readonly #moments: Moment[] = [];
  #changes = -1;
  #factCount = 0;
  #stopped = false;

  constructor(disk: MemoryIo, countFacts: () => number) {
    this.#disk = disk;
    this.#countFacts = countFacts;
    disk.watch((operation) => this.#record(() => describeOperation(operation)));
  }

  /** Nothing is recorded after this call. A second call changes nothing. */
  stop(): readonly Moment[] {
    if (!this.#stopped) this.#record(() => 'end');
    this.#stopped = true;
    this.#disk.watch(undefined);
    return this.#moments;
  }

  // A crash where neither the disk nor the facts moved has the outcomes of the crash before it.
  #record(before: () => string): void {
    const factCount = this.#countFacts();
    if (this.#disk.changes === this.#changes && factCount === this.#factCount) return;
    this.#changes = this.#disk.changes;
    this.#factCount = factCount;
    this.#moments.push({ before: before(), snapshot: this.#disk.snapshot(), factCount });
  }
}

/** An image that was not seen with the same facts before. */
interface Fresh {
  readonly image: CrashImage;
  readonly hash: number;
  /** True when the image was not seen with any other facts either. */
  readonly isNew: boolean;
}

class Explorer<Fact> {
  readonly count: CrashCount = { points: 0, states: 0, nested: 0, distinctDisks: 0 };
  readonly #exploration: CrashExploration<Fact>;
  readonly #disks = new Set<number>();
  readonly #checked = new Set<number>();

  constructor(exploration: CrashExploration<Fact>) {
    this.#exploration = exploration;
  }

  async explore(moment: Moment, facts: readonly Fact[], seed: number): Promise<void> {
    const { statesPerPoint, nestedPerPoint = 0 } = this.#exploration;
    this.count.points++;
    const images = crashImages(moment.snapshot, statesPerPoint, seed);
    const fresh = [...this.#freshOf(images, facts.length)];
    const random = new SeededRandom(mixHashes(seed, 1));
    const chosen = chooseForNesting(fresh, nestedPerPoint / NESTED_PER_RECOVERY, random);
    for (const { image, hash } of fresh) {
      const recorder = chosen.has(hash) ? new Recorder(image.disk, () => 0) : undefined;
      const crash = {
        before: moment.before,
        nested: false,
        image: hash,
        recovered: () => void recorder?.stop(),
      };
      await this.#check(image, facts, crash);
      if (recorder !== undefined)
        await this.#exploreRecovery(recorder.stop(), image, { facts, random });
    }
  }

  /** Crashes one recovery of the disk `outer` at one of its operations. */
  async #exploreRecovery(
    moments: readonly Moment[],
    outer: CrashImage,
    { facts, random }: { facts: readonly Fact[]; random: SeededRandom },
  ): Promise<void> {
    // The first moment is the disk as recovery found it, which has been checked.
    const moment = moments[1 + random.below(moments.length - 1)];
    if (moment === undefined) return;
    const { before, snapshot } = moment;
    const images = crashImages(snapshot, NESTED_PER_RECOVERY, random.bits());
    for (const { image, hash } of this.#freshOf(images, facts.length)) {
      const story = (): string =>
        `${outer.story()}\nand during recovery, before ${before}\n${image.story()}`;
      const crash = { before, nested: true, image: hash, recovered: () => undefined };
      this.count.nested++;
      await this.#check({ disk: image.disk, story }, facts, crash);
    }
  }

  *#freshOf(images: Iterable<CrashImage>, factCount: number): Generator<Fresh> {
    for (const image of images) {
      const hash = image.disk.hash();
      const isNew = isAdded(this.#disks, hash);
      this.count.distinctDisks = this.#disks.size;
      if (isAdded(this.#checked, mixHashes(hash, factCount))) yield { image, hash, isNew };
    }
  }

  async #check(image: CrashImage, facts: readonly Fact[], crash: CrashPoint): Promise<void> {
    this.count.states++;
    try {
      await this.#exploration.check(image.disk, facts, crash);
    } catch (error) {
      const reason = messageOf(error);
      const where = `crash before ${crash.before}, seed ${this.#exploration.seed}, ${facts.length} facts noted`;
      throw new Error(`${reason}\n${where}\n${image.story()}`, { cause: error });
    }
  }
}

/** Returns the hashes of up to `limit` images whose recovery is crashed, too. New images are preferred. */
function chooseForNesting(
  fresh: readonly Fresh[],
  limit: number,
  random: SeededRandom,
): ReadonlySet<number> {
  const unseen = fresh.filter(({ isNew }) => isNew);
  const candidates = unseen.length > 0 ? unseen : fresh;
  const chosen = new Set<number>();
  for (let drawn = 0; drawn < limit; drawn++) {
    const candidate = candidates[random.below(candidates.length)];
    if (candidate !== undefined) chosen.add(candidate.hash);
  }
  return chosen;
}

function isAdded(set: Set<number>, item: number): boolean {
  const before = set.size;
  return set.add(item).size > before;
}
