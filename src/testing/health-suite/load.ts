import { setTimeout as sleep } from 'node:timers/promises';
import type { ContextId, TurnId } from '../../base/brand.ts';
import { NO_TURN } from '../../base/brand.ts';
import { isQuipuError } from '../../base/errors.ts';
import type { Contexts } from '../../context/contexts.ts';
import type { Turn } from '../../context/turn.ts';
import { SeededRandom } from '../disk/seeded-random.ts';
import { LoadModel } from './load-model.ts';

// Random work on contexts. A writer changes only contexts of its own, and forks from anybody's turns, dead ones
// included. So the model knows the right content of each context at any moment.

const CONTEXTS_PER_WRITER = 6;

export class Load {
  readonly model: LoadModel = new LoadModel();
  /** The failures found, in words; empty when there are none. */
  readonly failures: string[] = [];
  done = 0;
  readonly #doors: readonly Contexts[];
  readonly #random: SeededRandom;
  readonly #removing: Set<ContextId> = new Set();
  readonly #patching: Set<Promise<void>> = new Set();
  #stopped = false;

  /** Each call goes through one of the doors, chosen at random. */
  constructor(doors: readonly [Contexts, ...Contexts[]], seed: number) {
    this.#doors = doors;
    this.#random = new SeededRandom(seed);
  }

  get #contexts(): Contexts {
    return this.#doors[this.#pick(this.#doors.length)]!;
  }

  stop(): void {
    this.#stopped = true;
  }

  get stopped(): boolean {
    return this.#stopped || this.failures.length > 0;
  }

  async write(): Promise<void> {
    const own: ContextId[] = [];
    await this.#until(async () => {
      const at = this.#pick(own.length);
      const id = own[at];
      const step = this.#pick(20);
      if (id === undefined || (step < 3 && own.length < CONTEXTS_PER_WRITER)) {
        own.push(...(await this.#create()));
      } else if (step < 4) {
        own.splice(at, 1);
        own.push(...(await this.#remove(id)));
      } else if (step < 6) await this.#stream(id);
      else if (step < 8) await this.#patch(id);
      else if (step < 10) await this.#append(id, this.#earlier(id));
      else await this.#append(id);
    });
  }

  /** Reads whole chains and compares them with the model. */
  async read(): Promise<void> {
    await this.#until(async () => {
      const ids = [...this.model.heads.keys()];
      const id = ids[this.#pick(ids.length)];
      if (id !== undefined) await this.check(id);
    });
  }

  async check(id: ContextId): Promise<void> {
    const head = this.model.heads.get(id) ?? NO_TURN;
    if (head === NO_TURN) return;
    const wanted = this.model.chainOf(head).toReversed();
    const counts = new Map(wanted.map((turn) => [turn, this.model.patchCount(turn)]));
    const found: TurnId[] = [];
    try {
      for await (const turn of this.#contexts.chain(head)) {
        found.push(turn.id);
        if (turn.bytes === undefined) this.#fail(`turn ${turn.id} came without bytes`);
        // Patches may have come during the read, and be readable before their writers know.
        const mayShow = (): boolean =>
          this.model
            .shownSince(turn.id, counts.get(turn.id) ?? 0)
            .some((hash) => hash === turn.payloadHash);
        if (mayShow()) continue;
        await Promise.allSettled(this.#patching);
        if (!mayShow()) this.#fail(`turn ${turn.id} showed another payload`);
      }
      if (found.join() !== wanted.join()) this.#fail(`the chain to turn ${head} was another one`);
    } catch (error) {
      // The owner may have left this branch meanwhile; then it may be gone.
      if (!this.#removing.has(id) && this.model.reachable().has(head)) this.#fail(String(error));
    }
  }

  async #until(work: () => Promise<unknown>): Promise<void> {
    while (!this.stopped) {
      try {
        await work();
        this.done += 1;
        // Some steps find nothing to do. They must not keep the other steps or a collection from their work.
        await sleep(2);
      } catch (error) {
        this.#fail(error instanceof Error ? (error.stack ?? error.message) : String(error));
      }
    }
  }

  async #create(): Promise<ContextId[]> {
    const turns = [...this.model.turns.keys()];
    const base = turns[this.#pick(turns.length)];
    if (base === undefined || this.#pick(3) === 0) {
      const { id } = await this.#contexts.create();
      this.model.heads.set(id, NO_TURN);
      return [id];
    }
    return this.#fork(base);
  }

  /** A turn that nothing leads to may be gone; any other must be there. */
  async #fork(base: TurnId): Promise<ContextId[]> {
    const mustWork = this.model.reachable().has(base);
    try {
      const { id } = await this.#contexts.fork(base);
      this.model.heads.set(id, base);
      return [id];
    } catch (error) {
      if (!isQuipuError(error, 'NOT_FOUND')) throw error;
      if (mustWork && this.model.reachable().has(base)) this.#fail(`turn ${base} is gone`);
      return [];
    }
  }

  /** Half of the time someone wants the context back a moment later, when a collection may be under way. */
  async #remove(id: ContextId): Promise<ContextId[]> {
    const head = this.model.heads.get(id) ?? NO_TURN;
    this.#removing.add(id);
    this.model.heads.delete(id);
    await this.#contexts.remove(id);
    if (head === NO_TURN || this.#pick(2) === 0) return [];
    await sleep(this.#pick(30));
    return this.#fork(head);
  }

  /** Some turn on the way to the head. */
  #earlier(id: ContextId): TurnId | undefined {
    const chain = this.model.chainOf(this.model.heads.get(id) ?? NO_TURN);
    return chain[this.#pick(chain.length)];
  }

  async #append(id: ContextId, parent?: TurnId): Promise<void> {
    const payload = this.#payload();
    const place = parent === undefined ? {} : { parent };
    const turn = await this.#contexts.append(id, { type: 'load', payload }, place);
    this.#joined(id, turn);
  }

  async #patch(id: ContextId): Promise<void> {
    const turn = this.#earlier(id);
    if (turn === undefined) return;
    const patching = this.#contexts.patch(turn, this.#payload()).then(({ payloadHash, seq }) => {
      this.model.addPatch(turn, { seq, payload: payloadHash });
      this.#patching.delete(patching);
    });
    this.#patching.add(patching);
    await patching;
  }

  async #stream(id: ContextId): Promise<void> {
    const parent = this.#pick(3) === 0 ? this.#earlier(id) : undefined;
    const place = parent === undefined ? {} : { parent };
    const open = await this.#contexts.open(id, { type: 'load' }, place);
    for (let n = this.#pick(4); n > 0; n -= 1) {
      await open.write(`${this.#payload()} `);
      await sleep(this.#pick(15));
    }
    const isAborted = this.#pick(4) === 0;
    this.#joined(id, isAborted ? await open.abort('enough') : await open.seal());
  }

  #joined(id: ContextId, { id: turn, parent, payloadHash }: Turn): void {
    if (payloadHash === undefined) throw new Error(`turn ${turn} was sealed without a payload`);
    this.model.addTurn(turn, parent, payloadHash);
    this.model.heads.set(id, turn);
  }

  /** Few different payloads, so that dead ones come back; now and then one that is stored in chunks. */
  #payload(): string {
    const kind = this.#pick(100);
    if (kind === 0) return `large ${this.#pick(5)} `.repeat(40_000);
    if (kind < 60) return `shared ${this.#pick(40)}`;
    return `own ${this.#pick(1_000_000)}`;
  }

  #pick(count: number): number {
    return count === 0 ? 0 : this.#random.below(count);
  }

  #fail(what: string): void {
    this.failures.push(what);
  }
}
