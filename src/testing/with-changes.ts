/** An engine, or a part of one, with some of its methods replaced. */
export function withChanges<T extends object>(whole: T, changes: Partial<T>): T {
  return new Proxy(whole, {
    get(target, name) {
      const changed: unknown = Reflect.get(changes, name);
      if (changed !== undefined) return changed;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}
