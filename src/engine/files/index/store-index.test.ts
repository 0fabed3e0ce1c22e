import { fieldsOf } from '../../context-meta.ts';
import fc from 'fast-check';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { MapShelf } from '../../../testing/map-shelf.ts';
import { sampleKey, samplePlace, shelfBatch } from '../../../../test/support/shelf-samples.ts';
import { Index } from './store-index.ts';
import type { Shelf, ShelfBatch } from './shelf.ts';
import { openSqliteShelf } from './sqlite-shelf.ts';
import { freshFolder } from '../../../testing/fresh-folder.ts';

const folder = freshFolder('quipu-index-', afterAll);

const small = fc.nat(12);
const name = fc.constantFrom('a', 'a/1', 'a/2', 'b', 'b/1');
const step = fc.oneof(
  fc.record({ do: fc.constant('blob' as const), n: small, pack: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ do: fc.constant('key' as const), n: small }),
  fc.record({ do: fc.constant('sha256' as const), n: small }),
  // One number belongs to one turn.
  fc
    .record({ n: small, nth: small })
    .map(({ n, nth }) => ({ do: 'patch' as const, n, seq: n * 1000 + nth })),
  fc.record({ do: fc.constant('context' as const), n: small, at: small, removed: fc.boolean() }),
  fc.record({ do: fc.constant('tags' as const), n: small, tag: fc.constantFrom('x', 'y') }),
  fc.record({ do: fc.constant('doc' as const), name, n: small, removed: fc.boolean() }),
  fc.record({ do: fc.constant('log' as const), name, removed: fc.boolean() }),
  fc.record({ do: fc.constant('forget' as const), n: small, pack: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ do: fc.constant('forgetPack' as const), pack: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ do: fc.constant('reopen' as const) }),
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

function sha256Of(n: number): string {
  return n.toString(16).padStart(2, '0').repeat(32);
}

/** The same step on the index and, as a batch of its own, on the model. */
function take(index: Index, model: Shelf, todo: Step): void {
  const apply = (part: Partial<ShelfBatch>): void => model.apply(shelfBatch(part));
  if (todo.do === 'blob') {
    index.addBlob(samplePlace(todo.n, todo.pack));
    apply({ blobs: [samplePlace(todo.n, todo.pack)] });
  } else if (todo.do === 'key') {
    index.addKey(sampleKey(todo.n), todo.n);
    apply({ keys: [{ key: sampleKey(todo.n), turn: todo.n }] });
  } else if (todo.do === 'sha256') {
    index.addSha256(sha256Of(todo.n), samplePlace(todo.n).hash);
    apply({ sha256: [{ sha256: sha256Of(todo.n), hash: samplePlace(todo.n).hash }] });
  } else if (todo.do === 'patch') {
    index.addPatch(todo.n, todo.seq);
    apply({ patches: [{ turn: todo.n, seq: todo.seq }] });
  } else if (todo.do === 'context') {
    const place = {
      head: todo.n,
      base: 0,
      createdAt: 1,
      updatedAt: todo.at,
      removed: todo.removed,
    };
    index.setContext(todo.n, place);
    apply({ contexts: [{ id: todo.n, ...place }] });
  } else if (todo.do === 'tags') {
    const tags = {
      name: `${todo.tag}${todo.n}`,
      kind: todo.tag,
      labels: [todo.tag],
      fields: fieldsOf({ tag: todo.tag, n: todo.n }),
    };
    index.setContextTags(todo.n, tags);
    apply({ contextMeta: [{ id: todo.n, ...tags }] });
  } else if (todo.do === 'doc') {
    const place = { offset: todo.n, length: 1, version: todo.n, removed: todo.removed };
    index.setDoc(todo.name, place);
    apply({ docs: [{ name: todo.name, ...place }] });
  } else if (todo.do === 'log') {
    index.setLog(todo.name, todo.removed);
    apply({ logs: [{ name: todo.name, removed: todo.removed }] });
  } else if (todo.do === 'forget') {
    index.forgetBlobs([samplePlace(todo.n, todo.pack)]);
    model.forgetBlobs([samplePlace(todo.n, todo.pack)]);
  } else if (todo.do === 'forgetPack') {
    index.dropPack(todo.pack);
    apply({ gonePacks: [todo.pack] });
  }
}

function expectSameLookups(index: Index, model: Shelf): void {
  for (let n = 0; n <= 12; n++) {
    const { hash } = samplePlace(n);
    const places = [...model.walkBlobs()].filter((place) => place.hash === hash);
    const found = index.findBlob(hash);
    expect(found === undefined ? places : [found]).toEqual(
      found === undefined ? [] : places.filter((place) => place.pack === found.pack),
    );
    expect(index.findKey(sampleKey(n))).toBe(model.findKey(sampleKey(n)));
    expect(index.findSha256(sha256Of(n))).toBe(model.findSha256(sha256Of(n)));
    expect(index.patchesOf([n, n + 1])).toEqual(model.patchesOf([n, n + 1]));
    expect(index.getContext(n)).toEqual(model.getContext(n));
    for (const name of [`x${n}`, `y${n}`]) {
      const living = model.withName(name).find((id) => model.getContext(id)?.removed === false);
      expect(index.findName(name)).toBe(living);
    }
  }
  for (const doc of ['a', 'a/1', 'a/2', 'b', 'b/1']) {
    expect(index.findDoc(doc)).toEqual(model.findDoc(doc));
  }
}

function expectSameLists(index: Index, model: Shelf): void {
  for (const query of [
    {},
    { label: 'x' },
    { kind: 'y' },
    { label: 'x', kind: 'x' },
    { namePrefix: 'y' },
  ]) {
    const page = { ...query, limit: 5, before: { updatedAt: 9, id: 5 } };
    expect(index.flushed().listContexts({ ...query, limit: 20 })).toEqual(
      model.listContexts({ ...query, limit: 20 }),
    );
    expect(index.flushed().listContexts(page)).toEqual(model.listContexts(page));
  }
  expect(index.flushed().listDocs('a', 2, 'a')).toEqual(model.listDocs('a', 2, 'a'));
  expect(index.flushed().listBlobs('', 9)).toEqual(model.listBlobs('', 9));
  expect(index.flushed().listLogs('', 9)).toEqual(model.listLogs('', 9));
  const keys = (places: Iterable<{ hash: string; pack: number }>): string[] =>
    [...places].map((place) => `${place.hash} ${place.pack}`).sort();
  expect(keys(index.flushed().walkBlobs())).toEqual(keys(model.walkBlobs()));
}

describe('index', () => {
  it('answers like one map, whatever is pending and whatever is on the shelf', () => {
    let file = 0;
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 60 }),
        fc.integer({ min: 1, max: 9 }),
        (steps, flushLimit) => {
          const path = join(folder, `${++file}.db`);
          const model = new MapShelf();
          const open = (): Index =>
            new Index({ shelf: openSqliteShelf(path), positions: () => ({ n: 1 }), flushLimit });
          let index = open();
          for (const todo of steps) {
            if (todo.do === 'reopen') {
              index.close();
              index = open();
            }
            take(index, model, todo);
            index.maybeFlush();
            expect(index.waitingCount).toBeLessThan(flushLimit);
          }
          expectSameLookups(index, model);
          expectSameLists(index, model);
          index.close();
        },
      ),
      { numRuns: 40 },
    );
  });

  it('finds a name that reached the shelf before its context', () => {
    const index = new Index({ shelf: new MapShelf(), positions: () => ({}), flushLimit: 2 });
    const place = { head: 0, base: 0, createdAt: 1, updatedAt: 1, removed: false };
    index.setContextTags(1, { name: 'a', kind: undefined, labels: [], fields: [] });
    index.flush();
    expect(index.findName('a')).toBeUndefined();
    index.setContext(1, place);
    expect(index.findName('a')).toBe(1);
    index.setContext(1, { ...place, removed: true });
    index.flush();
    expect(index.findName('a')).toBeUndefined();
    index.setContext(1, place);
    expect(index.findName('a')).toBe(1);
  });

  it('knows after it was opened again which packs are no more', () => {
    const shelf = new MapShelf();
    const open = (): Index => new Index({ shelf, positions: () => ({}) });
    const before = open();
    before.dropPack(2);
    before.flush();
    const after = open();
    after.addBlob(samplePlace(0, 2));
    expect(after.findBlob(samplePlace(0).hash)).toBeUndefined();
  });

  it('stores totals and positions with the entries they belong to', () => {
    const shelf = new MapShelf();
    let turns = 0;
    const index = new Index({ shelf, positions: () => ({ turns }), flushLimit: 2 });
    index.count({ turns: 1, blobBytes: 10 });
    turns = 1;
    index.setContext(1, { head: 1, base: 0, createdAt: 1, updatedAt: 1, removed: false });
    index.maybeFlush();
    expect(shelf.positions()).toEqual({});
    index.count({ turns: 1, blobBytes: -4 });
    turns = 2;
    index.addBlob(samplePlace(1));
    index.maybeFlush();
    expect(shelf.positions()).toEqual({ turns: 2 });
    expect(shelf.totals()).toMatchObject({ turns: 2, blobBytes: 6 });
    expect(new Index({ shelf, positions: () => ({}) }).totals).toEqual(shelf.totals());
  });

  it('keeps entries pending when the shelf can not take them', () => {
    const shelf = new MapShelf();
    const apply = shelf.apply.bind(shelf);
    shelf.apply = () => {
      throw new Error('the disk is full');
    };
    const index = new Index({ shelf, positions: () => ({ turns: 1 }) });
    index.addBlob(samplePlace(1));
    expect(() => index.flush()).toThrow('the disk is full');
    expect(index.findBlob(samplePlace(1).hash)).toEqual(samplePlace(1));
    shelf.apply = apply;
    index.flush();
    expect(shelf.findBlob(samplePlace(1).hash)).toEqual(samplePlace(1));
    expect(index.waitingCount).toBe(0);
  });
});
