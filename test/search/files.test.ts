import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { openStore } from '../../src/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { searchSuite } from '../../src/testing/search-suite/search-suite.ts';
import { freshFolder } from '../../src/testing/fresh-folder.ts';

const root = freshFolder('quipu-search-', afterAll);
const folders = new WeakMap<Store, string>();
let count = 0;

searchSuite({
  name: 'files',
  async open(opening = {}) {
    const folder = join(root, String((count += 1)));
    const store = await openStore(folder, { durability: 'unsafe', ...opening });
    folders.set(store, folder);
    return store;
  },
  async indexBytes(store) {
    const folder = folders.get(store) ?? '';
    const names = readdirSync(folder).filter((name) => name.startsWith('search.db'));
    return names.map((name) => [name, readFileSync(join(folder, name))] as const);
  },
});
