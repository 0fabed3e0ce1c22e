import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Order } from '../request/request.ts';
import { Ordered, RequestOrder, WRITES_AT_ONCE } from './jobs.ts';

class Noted extends Ordered {
  readonly id: number;

  constructor(order: Order, id: number) {
    super(order);
    this.id = id;
  }
}

/** Requests that note when they begin, and end when told. */
function rig(readsAtOnce = 100) {
  const begun: number[] = [];
  const running = new Map<number, Noted>();
  const begin = (request: Noted): void => {
    begun.push(request.id);
    running.set(request.id, request);
  };
  const order = new RequestOrder(begin, () => readsAtOnce);
  let count = 0;
  const add = (kind: Order): number => {
    const id = count;
    count += 1;
    order.add(new Noted(kind, id));
    return id;
  };
  const end = (id: number): void => {
    const request = running.get(id)!;
    running.delete(id);
    order.end(request);
  };
  return { order, begun, running, add, end };
}

describe('RequestOrder', () => {
  it('begins writes side by side, in order', () => {
    const { add, begun } = rig();
    for (let count = 0; count < 3; count += 1) add('write');
    expect(begun).toEqual([0, 1, 2]);
  });

  it('lets a read wait for the writes before it, and not for those after', () => {
    const { add, begun, end } = rig();
    add('write');
    add('read');
    add('write');
    expect(begun).toEqual([0, 2]);
    end(0);
    expect(begun).toEqual([0, 2, 1]);
  });

  it('keeps a barrier alone among writes', () => {
    const { add, begun, end } = rig();
    add('write');
    add('barrier');
    add('write');
    add('free');
    expect(begun).toEqual([0, 3]);
    end(0);
    expect(begun).toEqual([0, 3, 1]);
    end(1);
    expect(begun).toEqual([0, 3, 1, 2]);
  });

  it('runs no more reads at once than it may', () => {
    const { add, begun, end } = rig(2);
    for (let count = 0; count < 3; count += 1) add('read');
    expect(begun).toEqual([0, 1]);
    end(1);
    expect(begun).toEqual([0, 1, 2]);
  });

  it('runs no more writes at once than it may, and reads behind them wait', () => {
    const { add, begun, end } = rig();
    for (let count = 0; count < WRITES_AT_ONCE + 1; count += 1) add('write');
    const read = add('read');
    expect(begun.length).toBe(WRITES_AT_ONCE);
    end(0);
    expect(begun.at(-1)).toBe(WRITES_AT_ONCE);
    for (let count = 1; count <= WRITES_AT_ONCE; count += 1) end(count);
    expect(begun.at(-1)).toBe(read);
  });

  it('begins nothing after it was stopped', () => {
    const { order, add, begun, end } = rig();
    add('barrier');
    add('write');
    order.stop();
    end(0);
    add('write');
    expect(begun).toEqual([0]);
  });

  it('keeps its promises whatever comes and however long it takes', () => {
    const kinds = fc.constantFrom<Order>('free', 'read', 'write', 'barrier');
    const property = fc.property(
      fc.array(kinds, { maxLength: 20 }),
      fc.array(fc.nat(), { minLength: 40, maxLength: 40 }),
      (asked, picks) => {
        const { add, begun, running, end } = rig(3);
        const ended = new Set<number>();
        const check = (id: number): void => {
          const kind = asked[id]!;
          const before = [...asked.entries()].slice(0, id).filter(([, other]) => isWrite(other));
          const late = before.filter(([at, other]) => {
            if (kind === 'free') return false;
            if (kind === 'write' && other === 'write') return !begun.includes(at);
            return !ended.has(at);
          });
          expect(late).toEqual([]);
          const reads = [...running.values()].filter(({ order }) => order === 'read');
          expect(reads.length).toBeLessThan(4);
        };
        let seen = 0;
        const look = (): void => {
          for (const id of begun.slice(seen)) check(id);
          seen = begun.length;
        };
        for (const kind of asked) {
          add(kind);
          look();
        }
        for (const pick of picks) {
          const ids = [...running.keys()];
          if (ids.length === 0) break;
          const id = ids[pick % ids.length]!;
          ended.add(id);
          end(id);
          look();
        }
        expect(begun.length).toBe(asked.length);
      },
    );
    fc.assert(property, { numRuns: 200 });
  });
});

function isWrite(kind: Order): boolean {
  return kind === 'write' || kind === 'barrier';
}
