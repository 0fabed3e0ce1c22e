import type { Engine, Progress } from '../engine/engine.ts';
import type { Collection, Upkeep } from '../engine/upkeep.ts';

// An erased text must leave the search index, too, whoever asks for it: a verb of this process, a client, or another
// process of this machine. All of them end at the engine, so the engine that they get tells the index.

/** The effect of an erasure on the index. */
export interface Forgetting {
  /**
   * Called before anything is erased. If the process dies before `end` is called, the index is not trusted any more and
   * is built again.
   */
  begin(): Promise<void>;
  /** Called when it is erased. Resolves when no byte of the index has it. */
  end(erased: { readonly blob?: string; readonly collected?: true }): Promise<void>;
  /** Records came that no commit reports. */
  renew(): Promise<void>;
  /** The accelerators are to be made again. */
  rebuild(progress?: Progress): Promise<void>;
}

/** The same engine, with an index that follows its erasures. */
export function observeEngine(engine: Engine, forgetting: Forgetting): Engine {
  return withOwn(engine, {
    upkeep: observeUpkeep(engine.upkeep, forgetting),
    reindex: async (...args: Parameters<Engine['reindex']>): Promise<void> => {
      await engine.reindex(...args);
      await forgetting.rebuild(...args);
    },
  });
}

function observeUpkeep(upkeep: Upkeep, forgetting: Forgetting): Upkeep {
  const around = async <T>(
    work: () => Promise<T>,
    erased: { readonly blob?: string; readonly collected?: true },
  ): Promise<T> => {
    await forgetting.begin();
    try {
      return await work();
    } finally {
      await forgetting.end(erased);
    }
  };
  return withOwn(upkeep, {
    eraseBlob: (hash) => around(() => upkeep.eraseBlob(hash), { blob: hash }),
    eraseLines: (log, erasures) => around(() => upkeep.eraseLines(log, erasures), {}),
    startCollection: async (options) =>
      observeCollection(await upkeep.startCollection(options), around),
    adopt: async (adoption) => {
      await upkeep.adopt(adoption);
      await forgetting.renew();
    },
  });
}

function observeCollection(
  collection: Collection,
  around: <T>(work: () => Promise<T>, erased: { readonly collected: true }) => Promise<T>,
): Collection {
  return withOwn(collection, {
    sweep: (...args: Parameters<Collection['sweep']>) =>
      around(() => collection.sweep(...args), { collected: true }),
  });
}

/** An object that does what `target` does, but for these members. Each call costs what it did. */
function withOwn<T extends object>(target: T, own: Partial<T>): T {
  const made: Record<string, unknown> = {};
  for (const name of namesOf(target)) {
    const value: unknown = Reflect.get(target, name);
    // Methods of a class with private fields must be called on the object itself.
    if (typeof value === 'function') made[name] = value.bind(target) as unknown;
    else
      Object.defineProperty(made, name, {
        get: () => Reflect.get(target, name) as unknown,
        configurable: true,
      });
  }
  for (const [name, value] of Object.entries(own)) {
    Object.defineProperty(made, name, { value, enumerable: true });
  }
  return made as T;
}

function namesOf(target: object): Set<string> {
  const names = new Set<string>();
  for (
    let at = target;
    at !== Object.prototype && at !== null;
    at = Object.getPrototypeOf(at) as object
  ) {
    for (const name of Object.getOwnPropertyNames(at)) if (name !== 'constructor') names.add(name);
  }
  return names;
}
