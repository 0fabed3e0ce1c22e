import { expect, it, vi } from 'vitest';
import { firstUse, loadedOnUse } from './first-use.ts';

it('makes a value once, also one that is undefined', () => {
  const make = vi.fn<() => undefined>();
  const value = firstUse(make);
  expect(make).not.toHaveBeenCalled();
  expect([value(), value()]).toEqual([undefined, undefined]);
  expect(make).toHaveBeenCalledOnce();
});

it('loads an object with the first call of one of its methods', async () => {
  class Counter {
    #count = 0;
    async add(by: number): Promise<number> {
      this.#count += by;
      return this.#count;
    }
    async fail(): Promise<never> {
      throw new Error('failed');
    }
  }
  const make = vi.fn<() => Promise<Counter>>(() => Promise.resolve(new Counter()));
  const made = firstUse(make);
  const asked: string[] = [];
  const counter = loadedOnUse<Counter, 'add' | 'fail'>(
    (method) => {
      asked.push(method);
      return made();
    },
    ['add', 'fail'],
  );
  expect(make).not.toHaveBeenCalled();
  expect([await counter.add(1), await counter.add(2)]).toEqual([1, 3]);
  await expect(counter.fail()).rejects.toThrow('failed');
  expect(make).toHaveBeenCalledOnce();
  expect(asked).toEqual(['add', 'add', 'fail']);
});

it('rejects when loading throws', async () => {
  const refused = (): never => {
    throw new Error('closed');
  };
  const methods = loadedOnUse<{ get(): Promise<void> }, 'get'>(refused, ['get']);
  await expect(methods.get()).rejects.toThrow('closed');
});
