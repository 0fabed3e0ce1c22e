import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { useSessionRig } from './rig.ts';
import { killWriters } from './kill-writers.ts';
import { workTogether } from './work-together.ts';

const rig = useSessionRig();

describe('several processes on one session', () => {
  it('lose no entry, and get ids of their own', async () => {
    const { store, folder } = await rig();
    expect(await workTogether(store, join(folder, 'store'), { workers: 2, each: 6 })).toBe(0);
  });

  it('may be killed in the middle of it', async () => {
    const { folder } = await rig();
    await killWriters(join(folder, 'killed'), { lines: 8, delayMs: 7 });
  }, 60_000);

  it('follow a session that another one moves', async () => {
    const { store, folder } = await rig();
    const session = await store.sessions.create();
    const other = await store.sessions.open(session.id);
    await other.append({ type: 'x', id: 'before' });
    await session.moveTo(join(folder, 'moved'));
    await other.append({ type: 'x', id: 'after' });
    expect((await session.load()).entries.map(({ id }) => id)).toEqual(['before', 'after']);
    expect(other.file).toBe(session.file);
    expect((await other.saveArtifact('text', 'bash')).path).toContain(join(folder, 'moved'));
    const racing = Array.from({ length: 20 }, (_, n) => other.append({ type: 'x', id: `r${n}` }));
    await session.moveTo(join(folder, 'again'));
    await Promise.all(racing);
    expect((await session.load()).entries).toHaveLength(22);
  });
});
