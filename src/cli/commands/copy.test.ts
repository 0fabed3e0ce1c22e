import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { CliRig } from '../../../test/cli/rig.ts';
import { sixTurns } from '../../../test/cli/six-turns.ts';

it('copies a store, and again what is new', { timeout: 60_000 }, async () => {
  using rig = new CliRig({ onDisk: true });
  await sixTurns(rig);
  await rig.run('queue', 'push', 'jobs', '--type', 'TASK', '--source', 'here', '--content', '{}');
  const first = await rig.run('copy', '.quipu', 'copied', '--json');
  expect(first).toMatchObject({ code: 0, err: '' });
  expect(JSON.parse(first.out)).toMatchObject({ turns: 6, contexts: 1, queues: 1, leftOut: [] });
  await rig.run('context', 'append', '1', '--type', 'note', '--text', 'new');
  const second = await rig.run('copy', '.quipu', 'copied');
  expect(second).toMatchObject({ code: 0, err: '' });
  expect(second.out).toMatch(/^turns +1\ncontexts +0\n[^]*compared +equal\n$/);
  const found = await rig.run('--store', 'copied', 'context', 'last', '1', '--json');
  expect(found.out.trimEnd().split('\n')).toHaveLength(7);
});

it('refuses servers, the same place, other contents and what is not there', async () => {
  using rig = new CliRig({ onDisk: true });
  await sixTurns(rig);
  const nowhere = await rig.run('copy', 'nowhere', 'copied');
  expect(nowhere).toMatchObject({ code: 1, err: expect.stringContaining('no store') as string });
  expect(existsSync(join(rig.cwd, 'copied'))).toBe(false);
  expect((await rig.run('copy', '.quipu', '.quipu/inside')).code).toBe(2);
  expect((await rig.run('copy', '.quipu', 'quipu://localhost')).err).toContain('stop the server');
  await rig.run('--store', 'other', 'blob', 'put', join(rig.cwd, '.quipu', 'FORMAT'));
  const other = await rig.run('copy', '.quipu', 'other', '--json');
  expect(other).toMatchObject({ code: 2, out: '' });
  expect(JSON.parse(other.err)).toMatchObject({ error: { code: 'INVALID' } });
});

it('says at the beginning what stays behind, and where it was stopped', async () => {
  using rig = new CliRig({ onDisk: true });
  await sixTurns(rig);
  await rig.run('session', 'create');
  rig.interrupt.abort();
  const { code, err } = await rig.run('copy', '.quipu', 'copied');
  expect(code).toBe(1);
  expect(err).toMatch(/^not copied: session files \(1\): .*\n[^]*goes on from here/);
});
