import * as fs from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isQuipuError } from '../../base/errors.ts';
import type { Session } from '../../session/sessions.ts';
import type { Store } from '../../store/store.ts';
import { openBeside } from '../store-suite/fixture.ts';
import type { StoreTarget } from '../store-suite/store-target.ts';
import { message, openSessions } from './fixture.ts';

type Wrong = (session: Session, store: Store) => unknown;

/** Each call has an invalid argument. */
const WRONG: Readonly<Record<string, Wrong>> = {
  'append of a text': (session) => session.append('x' as never),
  'append of a list': (session) => session.append([] as never),
  'append with a number as id': (session) => session.append({ type: 'x', id: 1 as never }),
  'append with a number as parent': (session) =>
    session.append({ type: 'x', parentId: 1 as never }),
  'append with a number as time': (session) => session.append({ type: 'x', timestamp: 1 as never }),
  'setLeaf of a number': (session) => session.setLeaf(1 as never),
  'branch of a number': (session) => session.branch(1 as never),
  'last of a text': (session) => session.last('1' as never),
  'last before a text': (session) => session.last(1, { before: 'x' as never }),
  'last before a fraction': (session) => session.last(1, { before: 0.5 }),
  'saveArtifact of a number': (session) => session.saveArtifact(1 as never, 'bash'),
  'saveArtifact for no tool': (session) => session.saveArtifact('x', undefined as never),
  'sink for a number': (session) => session.sink({ toolType: 1 as never }),
  'sink with a text as listener': (session) => session.sink({ onChunk: 'x' as never }),
  'push of a number': (session) => session.sink().push(1 as never),
  'replace by a number': (session) => session.sink().replace(1 as never),
  'dump with a number': (session) => session.sink().dump(1 as never),
  'resolve of a number': (session) => session.resolve(1 as never),
  'fork at a number': (session) => session.fork({ at: 1 as never }),
  'fork into a number': (session) => session.fork({ folder: 1 as never }),
  'fork about a number': (session) => session.fork({ cwd: 1 as never }),
  'moveTo nowhere': (session) => session.moveTo(undefined as never),
  'moveTo an empty path': (session) => session.moveTo(''),
  'moveTo about a number': (session) => session.moveTo({ cwd: 1 as never }),
  'allocateAgent of a number': ({ artifacts }) => artifacts.allocateAgent(1 as never),
  'allocateAgents of a text': ({ artifacts }) => artifacts.allocateAgents('x' as never),
  'saveAgentOutput of a number': ({ artifacts }) => artifacts.saveAgentOutput('0-A', 1 as never),
  'saveAgentOutput as a number': ({ artifacts }) => artifacts.saveAgentOutput(1 as never, 'x'),
  'create about a number': (_, { sessions }) => sessions.create({ cwd: 1 as never }),
  'create in a number': (_, { sessions }) => sessions.create({ folder: 1 as never }),
  'create with a text as header': (_, { sessions }) => sessions.create({ header: 'x' as never }),
  'create with a text as redact': (_, { sessions }) => sessions.create({ redact: 'x' as never }),
  'create below an id': (_, { sessions }) => sessions.create({ parent: 'x' as never }),
  'open of a number': (_, { sessions }) => sessions.open(1 as never),
  'list after a number': (_, { sessions }) => sessions.list({ cursor: 1 as never }),
  'list of a text': (_, { sessions }) => sessions.list({ limit: '1' as never }),
  'recoverHeader of a number': (_, { sessions }) => sessions.recoverHeader(1 as never),
  'resolve of nothing': (_, { sessions }) => sessions.resolve(undefined as never),
  'export to a number': ({ id }, { sessions }) => sessions.export(id, 1 as never),
  'import of a number': (_, { sessions }) => sessions.import(1 as never),
  'move to a number': ({ id }, { sessions }) => sessions.move(id, 1 as never),
  'tidy by a text': (_, { sessions }) => sessions.tidy({ maxBytes: '1' as never }),
};

export function refusalsSuite(target: StoreTarget): void {
  describe('what is refused', () => {
    it('is told to be INVALID when an argument is none', async () => {
      const { store, begin } = await openSessions(target);
      const session = await begin();
      const others: unknown[] = [];
      for (const [name, call] of Object.entries(WRONG)) {
        const said = await Promise.resolve()
          .then(() => call(session, store))
          .catch((error: unknown) => error);
        if (!isQuipuError(said, 'INVALID')) others.push({ name, said });
      }
      expect(others).toEqual([]);
      expect((await session.load()).entries).toEqual([]);
    });

    it('are ids that are taken and entries that are not there', async () => {
      const rig = await openSessions(target);
      const session = await rig.begin();
      await session.append({ type: 'x', id: 'a' });
      const waiting = session.append({ type: 'x', id: 'b' });
      await expect(session.append({ type: 'x', id: 'b' })).rejects.toMatchObject({
        code: 'EXISTS',
        data: { what: 'entry', id: 'b' },
      });
      await waiting;
      const unknown = { code: 'NOT_FOUND', data: { what: 'entry', id: 'none' } };
      await expect(session.append({ type: 'x', parentId: 'none' })).rejects.toMatchObject(unknown);
      await expect(session.setLeaf('none')).rejects.toMatchObject(unknown);
      expect(session.leaf).toBe('b');
      // Entries that another session object wrote count, too.
      const { store } = await openBeside(rig);
      await using other = await store.sessions.open(session.id);
      await other.append({ type: 'x', id: 'c' });
      fs.appendFileSync(session.file!, '{"type":"x","id":"d","parentId":"c"}\n');
      for (const id of ['a', 'b', 'c', 'd']) {
        await expect(session.append({ type: 'x', id })).rejects.toMatchObject({ code: 'EXISTS' });
      }
      await session.append({ type: 'x', id: 'e', parentId: 'd' });
      await session.setLeaf('a');
      const { parentId } = await session.append({ type: 'x', id: 'f' });
      expect(parentId).toBe('a');
      await session.setLeaf(null);
      // A caller need not wait for one call before the next.
      const all = await Promise.all([
        session.append({ type: 'x', id: 'g' }),
        session.append({ type: 'x', id: 'h', parentId: 'g' }),
        session.append({ type: 'x' }),
      ]);
      expect(all.map((entry) => entry.parentId)).toEqual([null, 'g', 'h']);
      expect((await session.load()).entries).toHaveLength(9);
    });

    it('is an artifact whose folder is a file: at once, and with what to do', async () => {
      const { begin } = await openSessions(target);
      const session = await begin();
      fs.writeFileSync(session.artifacts.folder, 'in the way');
      await expect(session.saveArtifact('text', 'bash')).rejects.toMatchObject({ code: 'IO' });
      const sink = session.sink({ spillThreshold: 10 });
      await sink.push('more than fits into ten bytes');
      const { output, artifactId, artifactError } = await sink.dump();
      expect({ output, artifactId }).toEqual({ output: ' ten bytes', artifactId: undefined });
      expect(artifactError).toContain('open:');
      const forked = await session.fork();
      expect(forked).toMatchObject({
        artifactsCopied: false,
        warning: expect.any(String) as string,
      });
    });
  });

  describe('a session that is moved to what it is about', () => {
    it('goes to the folder that it would have begun in', async () => {
      const { store, folder } = await openSessions(target);
      const inStore = await store.sessions
        .create({ cwd: join(folder, 'a') })
        .catch(() => undefined);
      // A store on another machine has no such folder, and reports that.
      const session = inStore ?? (await store.sessions.create({ folder: join(folder, 'own') }));
      await session.append(message('text'));
      const moving = session.moveTo({ cwd: join(folder, 'b') });
      const moved = await moving.catch((error: unknown) => error);
      if (inStore === undefined) expect(moved).toMatchObject({ code: 'INVALID' });
      else {
        const begun = await store.sessions.create({ cwd: join(folder, 'b') });
        expect(join(session.file!, '..')).toBe(join(begun.file!, '..'));
        expect(session.header.cwd).toBe(join(folder, 'b'));
      }
    });
  });
}
