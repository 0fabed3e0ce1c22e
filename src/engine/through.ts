/** The same methods, each carried out by `run`. `name` is that of the method. */
export function through<T extends object>(
  methods: T,
  run: <R>(name: string, work: () => Promise<R>) => Promise<R>,
): T {
  const wrapped = Object.entries(methods).map(([name, method]) => [
    name,
    (...given: unknown[]) =>
      run(name, () => (method as (...args: unknown[]) => Promise<unknown>)(...given)),
  ]);
  return Object.fromEntries(wrapped) as T;
}
