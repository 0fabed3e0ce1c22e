import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openBeside } from '../store-suite/fixture.ts';
import type { StoreTarget } from '../store-suite/store-target.ts';
import { openSessions, picture } from './fixture.ts';

export function besideSuite(target: StoreTarget): void {
  describe('a session that two have open', () => {
    it('follows a session that another one moves', async () => {
      const rig = await openSessions(target);
      const { folder } = rig;
      const session = await rig.begin();
      const { store } = await openBeside(rig);
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

    it('keeps pictures that either of them put, whoever collects', async () => {
      const rig = await openSessions(target);
      const session = await rig.begin();
      const { store } = await openBeside(rig);
      const other = await store.sessions.open(session.id);
      const put = await Promise.all(
        [session, other, session, other].map((one, n) => one.append(picture(Buffer.alloc(900, n)))),
      );
      await Promise.all([session.saveArtifact('a', 'bash'), other.saveArtifact('b', 'bash')]);
      await store.maintain.gc({ graceMs: 0 });
      const { entries, unresolved } = await session.load();
      expect(unresolved).toEqual([]);
      expect(new Set(entries.map(({ id }) => id))).toEqual(new Set(put.map(({ id }) => id)));
      expect(await other.artifacts.listIds()).toEqual(['0', '1']);
    });
  });
}
