import { setImmediate } from 'node:timers/promises';
import type { ContextId, TurnId } from '../../base/brand.ts';
import { isQuipuError } from '../../base/errors.ts';
import { OneAtATime } from '../../base/one-at-a-time.ts';
import type { Change } from '../../engine/batch.ts';
import type { Engine } from '../../engine/engine.ts';

// Which contexts lead into the same tree of turns. The answer is read from the heads once, when somebody first asks, and
// kept current by what commits tell. It takes about 100 bytes for each context.

const PAGE = 10_000;
const BREATH = 500;
const NOTHING = 0n as TurnId;

export class Families {
  readonly #engine: Engine;
  /** The root of the tree that a context leads into. */
  readonly #roots = new Map<ContextId, TurnId>();
  readonly #members = new Map<TurnId, Set<ContextId>>();
  /** Contexts whose head moved since their root was found. */
  readonly #moved = new Set<ContextId>();
  readonly #inTurn = new OneAtATime<'read'>();
  #isLoaded = false;
  #stop: (() => void) | undefined;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** The contexts of the tree that `context` leads into, itself included. Empty for an empty context. */
  async of(context: ContextId): Promise<ContextId[]> {
    // One at a time: a caller that comes while another one reads would miss what that one has taken on.
    await this.#inTurn.run('read', () => this.#catchUp());
    const root = this.#roots.get(context);
    return root === undefined ? [] : [...(this.#members.get(root) ?? [])];
  }

  close(): void {
    this.#stop?.();
  }

  async #load(): Promise<void> {
    this.#stop ??= this.#engine.subscribe(
      (change) => this.#note(change),
      () => {
        this.#isLoaded = false;
      },
    );
    this.#isLoaded = true;
    for (let cursor: string | undefined, more = true; more;) {
      const page = await this.#engine.listContexts({ limit: PAGE, ...(cursor && { cursor }) });
      for (const { id } of page.rows) this.#moved.add(id);
      ({ cursor } = page);
      more = cursor !== undefined;
    }
  }

  #note({ heads, removedContexts }: Change): void {
    for (const { id } of heads) this.#moved.add(id);
    for (const id of removedContexts) this.#moved.add(id);
  }

  async #catchUp(): Promise<void> {
    if (!this.#isLoaded) {
      await this.#load().catch((error: unknown) => {
        this.#isLoaded = false;
        throw error;
      });
    }
    const moved = Array.from(this.#moved);
    for (const [n, id] of moved.entries()) {
      // Reads from memory leave no room for others.
      if (n % BREATH === BREATH - 1) await setImmediate();
      this.#moved.delete(id);
      this.#put(id, await this.#rootOf(id));
    }
  }

  /** A damaged record costs one context its family, and not everybody. */
  async #rootOf(id: ContextId): Promise<TurnId | undefined> {
    try {
      const head = (await this.#engine.getHead(id))?.head ?? NOTHING;
      return head === NOTHING ? undefined : (await this.#engine.ancestorAt(head, 0))?.id;
    } catch (error) {
      if (!isQuipuError(error, 'CORRUPT')) throw error;
      return undefined;
    }
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
