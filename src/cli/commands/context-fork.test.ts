import { expect, it } from 'vitest';
import { CliRig } from '../../../test/cli/rig.ts';
import { payloadsOf, sixTurns } from '../../../test/cli/six-turns.ts';

it('prints the id of a context that goes on from the turn', async () => {
  using rig = new CliRig();
  await sixTurns(rig);
  expect(await rig.run('context', 'fork', '2')).toEqual({ code: 0, out: '2\n', err: '' });
  expect(payloadsOf((await rig.run('context', 'last', '2', '--json')).out)).toEqual(['t1', 't2']);
  const { out } = await rig.run('context', 'fork', '3', '--title', 'T', '--json');
  expect(JSON.parse(out)).toMatchObject({ id: '3', base: '3', head: '3', title: 'T' });
});

it('forks once for a key', async () => {
  using rig = new CliRig();
  await sixTurns(rig);
  const fork = ['context', 'fork', '2', '--key', 'job-7'] as const;
  expect((await rig.run(...fork)).out).toBe('2\n');
  expect((await rig.run(...fork)).out).toBe('2\n');
  expect(await rig.run(...fork, '--title', 'T')).toMatchObject({ code: 1, out: '' });
  const create = ['context', 'create', '--key', 'new'] as const;
  expect((await rig.run(...create)).out).toBe('3\n');
  expect((await rig.run(...create)).out).toBe('3\n');
});

it('refuses a turn that is not there', async () => {
  using rig = new CliRig();
  await sixTurns(rig);
  expect(await rig.run('context', 'fork', '7')).toMatchObject({ code: 1, out: '' });
  expect(await rig.run('context', 'fork')).toMatchObject({ code: 2, out: '' });
});
