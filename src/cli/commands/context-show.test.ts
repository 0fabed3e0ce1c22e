import { expect, it } from 'vitest';
import { CliRig } from '../../../test/cli/rig.ts';

it('prints the facts that are there', async () => {
  using rig = new CliRig();
  await rig.run('context', 'create', '--title', 'T', '--meta', '{"n":1}');
  await rig.run('context', 'append', '1', '--type', 'note', '--text', 'hi');
  await rig.run('context', 'fork', '1');
  expect(await rig.run('context', 'show', '1')).toEqual({
    code: 0,
    out:
      'context  1\ntitle    T\nhead     1 at depth 0\ncreated  2023-11-14T22:13:20Z\n' +
      'updated  2023-11-14T22:13:20Z\nmeta     {"n":1}\n',
    err: '',
  });
  const forked = await rig.run('context', 'show', '2');
  expect(forked.out).toContain('forked from  1\n');
  expect(forked.out).toContain('flags        4 (forked)\n');
  expect(JSON.parse((await rig.run('context', 'show', '1', '--json')).out)).toMatchObject({
    flags: 0,
  });
});

it('says which context is missing', async () => {
  using rig = new CliRig();
  await rig.run('context', 'create');
  expect(await rig.run('context', 'show', '7')).toEqual({
    code: 1,
    out: '',
    err: 'quipu: there is no context 7\nhint: list the contexts with: quipu context list\n',
  });
  const { err } = await rig.run('context', 'show', '7', '--json');
  expect(JSON.parse(err)).toEqual({
    error: {
      code: 'NOT_FOUND',
      message: 'there is no context 7',
      data: { what: 'context', id: '7' },
    },
  });
});

it.each(['0', '-1', '12abc', '1.0', '99999999999999999999'])('refuses %s as an id', async (id) => {
  using rig = new CliRig();
  await rig.run('context', 'create');
  expect(await rig.run('context', 'show', '--', id)).toMatchObject({ code: 2, out: '' });
});
