// Results that survive `JSON.stringify`. Ids are bigints, which JSON has no way to write: a result that holds one has a
// `toJSON`, in which ids are decimal strings, as over HTTP. Such a string is accepted wherever an id is.

/** The value that `JSON.stringify` writes for a value of type `T`. */
export type Json<T> = T extends bigint
  ? string
  : T extends string | number | boolean | null | undefined
    ? T
    : T extends { toJSON(): infer Shown }
      ? Shown
      : T extends readonly (infer Item)[]
        ? Json<Item>[]
        : T extends object
          ? { [Name in keyof T]: Json<T[Name]> }
          : T;

/** The fields of a result as `toJSON` shows them: ids are decimal strings. */
export type ShownFields<T> = {
  -readonly [Name in keyof T as Exclude<Name, 'toJSON'>]: Json<T[Name]>;
};

/** A result with ids. `toJSON` shows them as decimal strings. */
export type Jsonable<T extends object> = T & { toJSON(): ShownFields<T> };

/** Gives a result its `toJSON`, and returns the same object. The method does not show when fields are listed. */
export function jsonable<T extends object>(result: T): Jsonable<T> {
  Object.defineProperty(result, 'toJSON', { value: fieldsToJson });
  return result as Jsonable<T>;
}

function fieldsToJson(this: object): object {
  return Object.fromEntries(Object.entries(this).map(([name, value]) => [name, toJson(value)]));
}

function toJson(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  if (Array.isArray(value)) return value.map(toJson);
  if (typeof value !== 'object' || value === null) return value;
  // JSON.stringify asks such a value by itself.
  return 'toJSON' in value ? value : fieldsToJson.call(value);
}
