/** These methods of whatever `current` returns when one of them is called. */
export function forwarding<T extends object, const Method extends keyof T & string>(
  current: () => T,
  methods: readonly Method[],
): Pick<T, Method> {
  const forwarded = methods.map((method) => [
    method,
    (...args: unknown[]): unknown => {
      const target = current();
      return (target[method] as (...given: unknown[]) => unknown).apply(target, args);
    },
  ]);
  return Object.fromEntries(forwarded) as Pick<T, Method>;
}
