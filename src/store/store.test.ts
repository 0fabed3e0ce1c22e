import { describe, expectTypeOf, it } from 'vitest';
import type { ContextId, ContextIdLike, TurnId, TurnIdLike } from '../base/brand.ts';
import type { Jsonable } from '../base/jsonable.ts';
import type { Store } from './store.ts';

/**
 * The places at which a result holds a bigint that `JSON.stringify` would meet: the paths of verbs and fields, and
 * `never` when there is none. Methods of results are verbs, too. Results that lead to each other end at a depth.
 */
type BareIds<
  T,
  Path extends string = 'store',
  Depth extends readonly 0[] = [],
> = Depth['length'] extends 10
  ? never
  : T extends bigint
    ? Path
    : T extends string | number | boolean | null | undefined | Uint8Array
      ? never
      : T extends { toJSON(): infer Shown }
        ? BareIds<Shown, Path, [...Depth, 0]>
        : T extends (...args: never[]) => infer Result
          ? BareIds<Awaited<Result>, `${Path}()`, [...Depth, 0]>
          : T extends AsyncIterable<infer Item> | Iterable<infer Item>
            ? BareIds<Item, `${Path}[]`, [...Depth, 0]>
            : T extends object
              ? {
                  [Name in keyof T & string]: BareIds<T[Name], `${Path}.${Name}`, [...Depth, 0]>;
                }[keyof T & string]
              : never;

describe('a store', () => {
  it('returns nothing that JSON.stringify refuses', () => {
    expectTypeOf<BareIds<Store>>().toEqualTypeOf<never>();
  });

  it('would be found to return an id that JSON.stringify refuses', () => {
    interface Forgetful {
      readonly kind: {
        get(): Promise<{ readonly id: TurnId }>;
        list(): AsyncIterable<readonly { readonly deep: { readonly at?: ContextId } }[]>;
        open(): Promise<{ read(): bigint }>;
        remembered(): Promise<Jsonable<{ readonly id: TurnId }>>;
      };
    }
    expectTypeOf<BareIds<Forgetful>>().toEqualTypeOf<
      'store.kind.get().id' | 'store.kind.list()[][].deep.at' | 'store.kind.open().read()'
    >();
  });
});

describe('an id', () => {
  it('may be given in any form, and not for another kind of id', () => {
    expectTypeOf<bigint | number | string | TurnId>().toExtend<TurnIdLike>();
    expectTypeOf<bigint | number | string | ContextId>().toExtend<ContextIdLike>();
    expectTypeOf<ContextId>().not.toExtend<TurnIdLike>();
    expectTypeOf<TurnId>().not.toExtend<ContextIdLike>();
  });
});
