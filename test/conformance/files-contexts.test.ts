import { join } from 'node:path';
import { afterAll } from 'vitest';
import { openStore } from '../../src/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { contextsSuite } from '../../src/testing/contexts-suite/contexts-suite.ts';
import { freshFolder } from '../../src/testing/fresh-folder.ts';

const root = freshFolder('quipu-contexts-', afterAll);

const folders = new WeakMap<Store, string>();
let count = 0;

async function openAt(folder: string, options: { maxPayloadBytes?: number } = {}): Promise<Store> {
  const store = await openStore(folder, options);
  folders.set(store, folder);
  return store;
}

contextsSuite({
  name: 'a folder',
  open: (options) => openAt(join(root, String((count += 1))), options),
  reopen: (store) => openAt(folders.get(store) ?? ''),
});
