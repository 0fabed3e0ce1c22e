/** Makes a value when it is first asked for, and gives the same one from then on. */
export function firstUse<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}

type AsyncMethod<T> = {
  [Name in keyof T]: T[Name] extends (...args: never[]) => Promise<unknown> ? Name : never;
}[keyof T] &
  string;

/**
 * Methods of an object that is loaded with the first call of one of them. `load` is called for each, with the name of
 * the method: it gives the same object each time, see `firstUse`.
 */
export function loadedOnUse<T extends object, const Method extends AsyncMethod<T>>(
  load: (method: string) => Promise<T>,
  methods: readonly Method[],
): Pick<T, Method> {
  const late = methods.map((method) => [
    method,
    async (...given: unknown[]): Promise<unknown> => {
      const target = await load(method);
      return (target[method] as (...args: unknown[]) => Promise<unknown>).apply(target, given);
    },
  ]);
  return Object.fromEntries(late) as Pick<T, Method>;
}
