import * as fs from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import type { Session } from '../../src/session/sessions.ts';
import { sessionSuite } from '../../src/testing/session-suite/session-suite.ts';
import { filesTarget } from '../support/files-target.ts';
import { useSessionRig } from './rig.ts';

const rig = useSessionRig();

it('a session has its place in the folder of the store unless it is told another', async () => {
  const { store, folder } = await rig();
  const { file } = await store.sessions.create({ cwd: '/some/project' });
  expect(dirname(file!)).toBe(join(folder, 'store/sessions/--some-project--'));
  const session = await store.sessions.create({ inMemory: true });
  expect(fs.readdirSync(join(folder, 'store/sessions'))).toHaveLength(1);
  const kept = await session.persist();
  expect(kept.file?.startsWith(join(folder, 'store/sessions/'))).toBe(true);
});

it('takes the sessions of agents of its agents along, and forgets them with it', async () => {
  const { store, folder } = await rig();
  const session = await store.sessions.create();
  const begin = async (parent: Session): Promise<Session> => {
    const agentId = await parent.artifacts.allocateAgent('Plan');
    return store.sessions.create({ parent, agentId });
  };
  // An agent whose session was opened by itself has artifacts of its own.
  const agent = await store.sessions.open((await begin(session)).file!);
  const { id } = await begin(agent);
  await session.moveTo(join(folder, 'moved'));
  const found = await store.sessions.open(id);
  expect(found.file?.startsWith(join(folder, 'moved'))).toBe(true);
  await store.sessions.remove(session.id);
  await expect(store.sessions.open(id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  expect((await store.sessions.list()).items).toEqual([]);
});

sessionSuite(filesTarget());
