import type { ContextPageQuery, BlobPlace, Shelf } from './shelf.ts';
import type { FieldCondition } from '../../engine.ts';
import { type FieldRange, fieldsOf, toRange } from '../../context-meta.ts';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Hash } from '../../../base/brand.ts';
import { MapShelf } from '../../../testing/map-shelf.ts';
import { sampleKey, samplePlace, shelfBatch } from '../../../../test/support/shelf-samples.ts';
import { openSqliteShelf } from './sqlite-shelf.ts';
import { freshFolder } from '../../../testing/fresh-folder.ts';

const folder = freshFolder('quipu-shelf-', afterAll);

let opened = 0;
const targets = [
  { name: 'maps', open: (): Shelf => new MapShelf() },
  { name: 'SQLite', open: (): Shelf => openSqliteShelf(join(folder, `${++opened}.db`)) },
];

describe.each(targets)('a shelf of $name', ({ open }) => {
  let shelf: Shelf;
  beforeEach(() => {
    shelf = open();
  });
  afterEach(() => shelf.close());

  it('is empty at first', () => {
    expect(shelf.positions()).toEqual({});
    expect(shelf.totals().turns).toBe(0);
    expect(shelf.findBlob(samplePlace(1).hash)).toBeUndefined();
    expect([...shelf.walkBlobs()]).toEqual([]);
    expect(shelf.listContexts({ limit: 10 })).toEqual([]);
    expect(shelf.listDocs('', 10)).toEqual([]);
  });

  it('keeps the last totals and positions', () => {
    shelf.apply(shelfBatch({ positions: { turns: 1, 'pack:1': 5 } }));
    const totals = { turns: 9, logicalBytes: 2 ** 40, blobs: 3, blobBytes: 4, storedBytes: 5 };
    shelf.apply(shelfBatch({ totals, positions: { turns: 2 } }));
    expect(shelf.totals()).toEqual(totals);
    expect(shelf.positions()).toEqual({ turns: 2 });
  });

  it('finds blobs, also where they are far into a large pack', () => {
    const far: BlobPlace = {
      ...samplePlace(7, 4_000_000_000),
      offset: 2 ** 40,
      rawLength: 2 ** 32 - 1,
    };
    shelf.apply(shelfBatch({ blobs: [samplePlace(1), far] }));
    expect(shelf.findBlob(far.hash)).toEqual(far);
    expect(shelf.findBlob(samplePlace(1).hash)).toEqual(samplePlace(1));
    expect(shelf.findBlob(samplePlace(2).hash)).toBeUndefined();
  });

  it('tells hashes apart that share their first 31 bytes', () => {
    const hash = samplePlace(1).hash;
    const twin = (hash.slice(0, 62) + (hash.endsWith('00') ? '01' : '00')) as Hash;
    shelf.apply(shelfBatch({ blobs: [samplePlace(1)] }));
    expect(shelf.findBlob(twin)).toBeUndefined();
    shelf.apply(shelfBatch({ blobs: [{ ...samplePlace(2), hash: twin }] }));
    expect(shelf.findBlob(twin)?.offset).toBe(200);
    expect(shelf.findBlob(hash)?.offset).toBe(100);
  });

  it('walks over every place once, also one that was added twice', () => {
    const places = [samplePlace(1), samplePlace(1, 2), samplePlace(2), samplePlace(3)];
    shelf.apply(shelfBatch({ blobs: places }));
    shelf.apply(shelfBatch({ blobs: places.slice(1) }));
    expect(sorted(shelf.walkBlobs())).toEqual(sorted(places));
  });

  it('lists hashes that share their first bytes, in order, a blob with two places once', () => {
    const head = samplePlace(1).hash.slice(0, 8);
    const twins = ['f', '3', 'a', '0'].map((digit) => (head + digit.repeat(56)) as Hash);
    const places = twins.map((hash, nth) => ({ ...samplePlace(nth + 2), hash }));
    shelf.apply(shelfBatch({ blobs: places }));
    shelf.apply(shelfBatch({ blobs: [{ ...samplePlace(9, 2), hash: twins[1]! }, samplePlace(7)] }));
    const inOrder = twins.toSorted();
    expect(shelf.listBlobs(head, 9)).toEqual(inOrder);
    expect(shelf.listBlobs(head, 2)).toEqual(inOrder.slice(0, 2));
    expect(shelf.listBlobs(head, 2, inOrder[1])).toEqual(inOrder.slice(2));
    expect(shelf.listBlobs(`${head}3`, 9)).toEqual([inOrder[1]]);
    expect(shelf.listBlobs('', 9)).toEqual([...twins, samplePlace(7).hash].toSorted());
    shelf.forgetBlobs([places[1]!]);
    expect(shelf.listBlobs(head, 9)).toEqual(inOrder);
    shelf.apply(shelfBatch({ gonePacks: [2] }));
    expect(shelf.listBlobs(head, 9)).toEqual(inOrder.filter((hash) => hash !== twins[1]));
  });

  it('forgets a place and still finds the other', () => {
    shelf.apply(shelfBatch({ blobs: [samplePlace(1), samplePlace(2)] }));
    shelf.apply(shelfBatch({ blobs: [samplePlace(1, 2)] }));
    shelf.forgetBlobs([samplePlace(1, 2), samplePlace(2), samplePlace(3)]);
    expect(shelf.findBlob(samplePlace(1).hash)).toEqual(samplePlace(1));
    expect(shelf.findBlob(samplePlace(2).hash)).toBeUndefined();
  });

  it('forgets all places of a pack that is gone', () => {
    const blobs = Array.from({ length: 500 }, (_, n) => samplePlace(n, 1 + (n % 3)));
    shelf.apply(shelfBatch({ blobs }));
    shelf.apply(shelfBatch({ gonePacks: [2] }));
    expect(sorted(shelf.walkBlobs())).toEqual(sorted(blobs.filter((place) => place.pack !== 2)));
  });

  it('finds keys and SHA-256 names', () => {
    const sha256 = 'ab'.repeat(32);
    const hash = samplePlace(1).hash;
    shelf.apply(
      shelfBatch({ keys: [{ key: sampleKey(1), turn: 2 ** 40 }], sha256: [{ sha256, hash }] }),
    );
    expect(shelf.findKey(sampleKey(1))).toBe(2 ** 40);
    expect(shelf.findKey(sampleKey(2))).toBeUndefined();
    expect(shelf.findSha256(sha256)).toBe(hash);
    expect(shelf.findSha256('ac'.repeat(32))).toBeUndefined();
  });

  it('gives the patches of many turns by rising sequence number', () => {
    const patches = [
      { turn: 5, seq: 1 },
      { turn: 7, seq: 2 },
      { turn: 5, seq: 3 },
      { turn: 9, seq: 4 },
    ];
    shelf.apply(shelfBatch({ patches }));
    shelf.apply(shelfBatch({ patches }));
    expect(shelf.patchesOf([7, 5, 5])).toEqual([1, 2, 3]);
    expect(shelf.patchesOf([6])).toEqual([]);
  });

  it('knows removed documents, and lists only the others', () => {
    const doc = { offset: 2 ** 41, length: 10, version: 3, removed: false };
    const docs = ['b/2', 'a/1', 'b/1', 'b0'].map((name) => ({ name, ...doc }));
    shelf.apply(shelfBatch({ docs }));
    shelf.apply(shelfBatch({ docs: [{ name: 'b/1', ...doc, version: 4, removed: true }] }));
    expect(shelf.findDoc('b/1')).toEqual({ ...doc, version: 4, removed: true });
    expect(shelf.findDoc('b/2')).toEqual(doc);
    expect(shelf.findDoc('b')).toBeUndefined();
    expect(shelf.listDocs('b/', 10)).toEqual(['b/2']);
    expect(shelf.listDocs('', 2)).toEqual(['a/1', 'b/2']);
    expect(shelf.listDocs('', 2, 'a/1')).toEqual(['b/2', 'b0']);
  });

  it('lists logs', () => {
    const logs = ['x/3', 'x/1', 'y'].map((name) => ({ name, removed: false }));
    shelf.apply(shelfBatch({ logs }));
    shelf.apply(shelfBatch({ logs: [{ name: 'x/1', removed: true }] }));
    expect(shelf.listLogs('x/', 10)).toEqual(['x/3']);
    expect(shelf.listLogs('', 10, 'x/3')).toEqual(['y']);
  });
});

describe.each(targets)('contexts on a shelf of $name', ({ open }) => {
  let shelf: Shelf;
  beforeEach(() => {
    shelf = open();
    shelf.apply(
      shelfBatch({
        contexts: [1, 2, 3, 4].map((id) => ({
          id,
          head: id,
          base: 0,
          createdAt: 1,
          updatedAt: 1000,
          removed: false,
        })),
        contextMeta: [
          {
            id: 1,
            name: 'a/1',
            kind: 'chat',
            labels: ['red', 'red', 'blue'],
            fields: fieldsOf({ env: 'prod', n: 1 }),
          },
          { id: 2, name: 'a', kind: 'chat', labels: ['red'], fields: fieldsOf({ env: 'proto' }) },
          { id: 3, name: undefined, kind: 'job', labels: ['red'], fields: [] },
        ],
      }),
    );
  });
  afterEach(() => shelf.close());

  it('are listed newest first, then by falling id, in pages', () => {
    shelf.apply(
      shelfBatch({
        contexts: [{ id: 2, head: 9, base: 0, createdAt: 1, updatedAt: 2e12, removed: false }],
      }),
    );
    expect(shelf.getContext(2)).toEqual({
      head: 9,
      base: 0,
      createdAt: 1,
      updatedAt: 2e12,
      removed: false,
    });
    expect(shelf.listContexts({ limit: 2 })).toEqual([2, 4]);
    expect(shelf.listContexts({ limit: 9, before: { updatedAt: 1000, id: 4 } })).toEqual([3, 1]);
    expect(shelf.listContexts({ limit: 0 })).toEqual([]);
  });

  it('are listed by label, by kind and by both', () => {
    expect(shelf.listContexts({ limit: 9, label: 'red' })).toEqual([3, 2, 1]);
    expect(shelf.listContexts({ limit: 9, kind: 'chat' })).toEqual([2, 1]);
    expect(shelf.listContexts({ limit: 1, kind: 'chat', label: 'red' })).toEqual([2]);
    expect(shelf.listContexts({ limit: 9, label: 'blue', kind: 'job' })).toEqual([]);
  });

  it('are found by name, and listed by the beginning of it', () => {
    expect(['a', 'a/1', 'A'].map((name) => shelf.withName(name))).toEqual([[2], [1], []]);
    expect(shelf.listContexts({ limit: 9, namePrefix: 'a' })).toEqual([2, 1]);
    expect(shelf.listContexts({ limit: 9, namePrefix: 'a/' })).toEqual([1]);
    expect(shelf.listContexts({ limit: 1, namePrefix: '', label: 'red' })).toEqual([2]);
    expect(shelf.listContexts({ limit: 9, namePrefix: 'a', kind: 'job' })).toEqual([]);
  });

  it('are listed and counted by fields and times', () => {
    const env = (condition: object): FieldRange =>
      toRange({ field: 'env', ...condition } as FieldCondition);
    const pages: [Partial<ContextPageQuery>, number[]][] = [
      [{ fields: [env({ is: 'prod' })] }, [1]],
      [{ fields: [env({ prefix: 'pro' })] }, [2, 1]],
      [{ fields: [env({ exists: true }), toRange({ field: 'n', is: 1 })] }, [1]],
      [{ fields: [env({ exists: false })] }, [4, 3]],
      [{ fields: [env({ prefix: 'pro' })], label: 'blue' }, [1]],
      [{ fields: [env({ prefix: 'pro' })], namePrefix: 'a/' }, [1]],
      [{ fields: [env({ is: 'prod' })], updated: { until: 1000 } }, []],
      [{ fields: [env({ is: 'prod' })], before: { updatedAt: 1000, id: 1 } }, []],
      [{ updated: { since: 1000, until: 1001 }, created: { since: 1 } }, [4, 3, 2, 1]],
      [{ created: { since: 2 } }, []],
      [{ updated: { since: 1001 } }, []],
    ];
    for (const [query, ids] of pages) {
      expect(shelf.listContexts({ ...query, limit: 9 }), JSON.stringify(query)).toEqual(ids);
      expect(shelf.countContexts({ ...query, limit: 0 })).toBe(ids.length);
    }
    shelf.apply(
      shelfBatch({
        contextMeta: [
          { id: 1, name: 'a/1', kind: 'chat', labels: [], fields: fieldsOf({ env: 'dev' }) },
        ],
      }),
    );
    expect(shelf.listContexts({ fields: [env({ is: 'prod' })], limit: 9 })).toEqual([]);
    expect(shelf.listContexts({ fields: [env({ is: 'dev' })], limit: 9 })).toEqual([1]);
  });

  it('leave a label when they are described anew', () => {
    shelf.apply(
      shelfBatch({
        contextMeta: [{ id: 2, name: 'b', kind: undefined, labels: ['green'], fields: [] }],
      }),
    );
    expect(shelf.listContexts({ limit: 9, label: 'red' })).toEqual([3, 1]);
    expect(shelf.listContexts({ limit: 9, label: 'green' })).toEqual([2]);
    expect(['a', 'b'].map((name) => shelf.withName(name))).toEqual([[], [2]]);
    expect(shelf.listContexts({ limit: 9, kind: 'chat' })).toEqual([1]);
  });

  it('are not listed once removed', () => {
    shelf.apply(
      shelfBatch({
        contexts: [{ id: 3, head: 3, base: 0, createdAt: 1, updatedAt: 1000, removed: true }],
      }),
    );
    expect(shelf.listContexts({ limit: 9 })).toEqual([4, 2, 1]);
    expect(shelf.listContexts({ limit: 9, label: 'red' })).toEqual([2, 1]);
    expect(shelf.getContext(3)?.removed).toBe(true);
    const gone = { head: 2, base: 0, createdAt: 1, updatedAt: 1000, removed: true };
    shelf.apply(shelfBatch({ contexts: [{ id: 2, ...gone }] }));
    expect(shelf.withName('a')).toEqual([2]);
    expect(shelf.listContexts({ limit: 9, namePrefix: 'a' })).toEqual([1]);
  });

  it('are unknown while only their metadata is there', () => {
    shelf.apply(
      shelfBatch({
        contextMeta: [{ id: 8, name: 'eight', kind: 'chat', labels: ['red'], fields: [] }],
      }),
    );
    expect(shelf.getContext(8)).toBeUndefined();
    expect(shelf.withName('eight')).toEqual([8]);
    expect(shelf.listContexts({ limit: 9, label: 'red' })).toEqual([3, 2, 1]);
    shelf.apply(
      shelfBatch({
        contexts: [{ id: 8, head: 0, base: 0, createdAt: 1, updatedAt: 1, removed: false }],
      }),
    );
    expect(shelf.listContexts({ limit: 9, label: 'red' })).toEqual([3, 2, 1, 8]);
  });
});

function sorted(places: Iterable<BlobPlace>): string[] {
  return [...places].map((place) => JSON.stringify(place, Object.keys(samplePlace(1)))).sort();
}
