import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { toContextId } from '../../base/brand.ts';
import type { ContextId, TurnId } from '../../base/brand.ts';
import { orNothing } from '../../base/errors.ts';
import { OneAtATime } from '../../base/one-at-a-time.ts';
import type { Change } from '../../engine/batch.ts';
import type { Engine } from '../../engine/engine.ts';

// Which contexts lead into the same tree of turns. From the first question on, the heads of all contexts are read, the
// newest contexts first, and kept current by what commits tell. A caller waits a second at most: a store with very many
// contexts answers with those read so far, and says that there may be more. It takes about 100 bytes for each context.
// Invariant: reading on and catching up take turns, so the root that is kept is never older than one that was put.

export interface Family {
  /** The contexts of the tree, the one that was asked for included. Empty for an empty context. */
  readonly contexts: readonly ContextId[];
  /** False while contexts of the store are still being read. */
  readonly isWhole: boolean;
}

const WAIT_MS = 1000;
const CHUNK = 500;
const NOTHING = 0n as TurnId;

export class Families {
  readonly #engine: Engine;
  /** The root of the tree that a context leads into. */
  readonly #roots = new Map<ContextId, TurnId>();
  readonly #members = new Map<TurnId, Set<ContextId>>();
  /** Contexts whose head moved since their root was found. */
  readonly #moved = new Set<ContextId>();
  readonly #inTurn = new OneAtATime<'read'>();
  /** Contexts with ids up to this one were not read yet. */
  #left = 0n;
  #reading: Promise<void> | undefined;
  #isWhole = false;
  #isClosed = false;
  #stop: (() => void) | undefined;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  async of(context: ContextId, waitMs: number = WAIT_MS): Promise<Family> {
    this.#reading ??= this.#readAll();
    if (waitMs > 0) await settledWithin(this.#reading, waitMs);
    else this.#reading.catch(() => undefined);
    return this.#inTurn.run('read', async () => {
      await this.#catchUp();
      // The asked one and the one that its tree began in are there at once.
      const root = await this.#rootOf(context);
      this.#put(context, root);
      const owner = root && (await this.#engine.getTurn(root))?.context;
      if (owner !== undefined) this.#put(owner, await this.#rootOf(owner));
      const members = root === undefined ? [] : (this.#members.get(root) ?? []);
      return { contexts: [...members], isWhole: this.#isWhole };
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#stop?.();
  }

  async #readAll(): Promise<void> {
    this.#stop ??= this.#engine.subscribe(
      (change) => this.#note(change),
      // Changes were missed: everything is read anew.
      () => (this.#reading = undefined),
    );
    this.#isWhole = false;
    try {
      this.#left = (await this.#engine.tips()).context;
      while (this.#left > 0n && !this.#isClosed) {
        await this.#inTurn.run('read', () => this.#readSome());
        // Reads from memory leave no room for others.
        await setImmediate();
      }
      this.#isWhole = this.#left === 0n;
    } catch (error) {
      this.#reading = undefined;
      throw error;
    }
  }

  async #readSome(): Promise<void> {
    for (let n = 0; n < CHUNK && this.#left > 0n; n += 1) {
      const id = toContextId(this.#left);
      this.#put(id, await this.#rootOf(id));
      this.#left -= 1n;
    }
  }

  #note({ heads, removedContexts }: Change): void {
    for (const { id } of heads) this.#moved.add(id);
    for (const id of removedContexts) this.#moved.add(id);
  }

  async #catchUp(): Promise<void> {
    const moved = Array.from(this.#moved);
    for (const [n, id] of moved.entries()) {
      if (n % CHUNK === CHUNK - 1) await setImmediate();
      this.#moved.delete(id);
      this.#put(id, await this.#rootOf(id));
    }
  }

  /** A damaged record costs one context its family, and not everybody. */
  #rootOf(id: ContextId): Promise<TurnId | undefined> {
    return orNothing(async () => {
      const head = (await this.#engine.getHead(id))?.head ?? NOTHING;
      return head === NOTHING ? undefined : (await this.#engine.ancestorAt(head, 0))?.id;
    }, 'CORRUPT');
  }

  #put(id: ContextId, root: TurnId | undefined): void {
    const old = this.#roots.get(id);
    if (old === root) return;
    if (old !== undefined) this.#members.get(old)?.delete(id);
    if (root === undefined) {
      this.#roots.delete(id);
      return;
    }
    this.#roots.set(id, root);
    const members = this.#members.get(root) ?? new Set();
    this.#members.set(root, members.add(id));
  }
}

/** Waits until the task has settled, or for this long. Throws if the task fails meanwhile. */
async function settledWithin(task: Promise<void>, ms: number): Promise<void> {
  const waited = new AbortController();
  const { signal } = waited;
  try {
    await Promise.race([task, sleep(ms, undefined, { signal })]);
  } finally {
    waited.abort();
  }
}
