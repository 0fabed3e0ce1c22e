import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach } from 'vitest';
import { openStore } from '../../src/open-store.ts';
import type { Store } from '../../src/store/store.ts';

export interface SessionRig {
  readonly folder: string;
  readonly store: Store;
}

/** A store in a folder that goes with the test. */
export function useSessionRig(): () => Promise<SessionRig> {
  const open: SessionRig[] = [];
  afterEach(async () => {
    for (const { store, folder } of open.splice(0)) {
      await store.close();
      await rm(folder, { recursive: true, force: true });
    }
  });
  return async () => {
    const folder = await mkdtemp(join(tmpdir(), 'quipu-session-'));
    const store = await openStore(join(folder, 'store'), { durability: 'unsafe' });
    const rig = { folder, store };
    open.push(rig);
    return rig;
  };
}
