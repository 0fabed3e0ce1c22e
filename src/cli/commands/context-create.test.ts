import { expect, it } from 'vitest';
import { CliRig } from '../../../test/cli/rig.ts';

it('prints the id alone, so that it composes', async () => {
  using rig = new CliRig();
  expect(await rig.run('context', 'create')).toEqual({ code: 0, out: '1\n', err: '' });
  expect(await rig.run('context', 'create', '--title', 'two')).toEqual({
    code: 0,
    out: '2\n',
    err: '',
  });
});

it('keeps title, kind, labels and meta', async () => {
  using rig = new CliRig();
  const details = ['--title', 'T', '--kind', 'chat', '--label', 'a', '--label', 'b'];
  const made = await rig.run('context', 'create', ...details, '--meta', '{"n":1}', '--json');
  expect(JSON.parse(made.out)).toMatchObject({
    id: '1',
    head: '0',
    title: 'T',
    kind: 'chat',
    labels: ['a', 'b'],
    meta: { n: 1 },
  });
});

it('refuses meta that is not JSON and makes no store', async () => {
  using rig = new CliRig();
  const refused = await rig.run('context', 'create', '--meta', '{n:1}');
  expect(refused).toMatchObject({ code: 2, out: '' });
  expect(refused.err).toContain('--meta');
  expect((await rig.run('context', 'list')).err).toContain('quipu init');
});
