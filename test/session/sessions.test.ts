import * as fs from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
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

sessionSuite(filesTarget());
