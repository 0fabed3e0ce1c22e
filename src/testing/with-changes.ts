import type { Engine } from '../../src/engine/engine.ts';

/** The engine with some of its methods replaced. */
export function withChanges(engine: Engine, changes: Partial<Engine>): Engine {
  return new Proxy(engine, {
    get(target, name) {
      const changed: unknown = Reflect.get(changes, name);
      if (changed !== undefined) return changed;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}
