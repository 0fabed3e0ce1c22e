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

export function message(text: string): { type: string; message: unknown } {
  return { type: 'message', message: { role: 'user', content: [{ type: 'text', text }] } };
}

export function picture(bytes: Uint8Array): { type: string; message: unknown } {
  const data = Buffer.from(bytes).toString('base64');
  const content = [{ type: 'image', mimeType: 'image/png', data }];
  return { type: 'message', message: { role: 'user', content } };
}
