import { CliRig } from '../../../test/cli/rig.ts';
import { sixTurns } from '../../../test/cli/six-turns.ts';
import { describe, expect, it } from 'vitest';

describe('names on the command line', () => {
  it('stand for the id wherever one goes', async () => {
    using rig = new CliRig();
    const named = ['context', 'create', '--name', 'jobs/7'];
    expect(await rig.run(...named)).toEqual({ code: 0, out: '1\n', err: '' });
    expect((await rig.run(...named)).err).toContain('belongs to context 1');
    expect((await rig.run(...named, '--or-get', '--title', 'T')).out).toBe('1\n');
    const turn = ['--type', 'note', '--text', 'hi'];
    expect((await rig.run('context', 'append', '@jobs/7', ...turn)).out).toBe('1\n');
    for (const verb of ['show', 'last', 'export']) {
      const { out } = await rig.run('context', verb, '@jobs/7', '--json');
      expect(JSON.parse(out)).toMatchObject(verb === 'show' ? { name: 'jobs/7' } : { id: '1' });
    }
    expect((await rig.run('context', 'list')).out).toContain('NAME');
    expect((await rig.run('context', 'show', '@nobody')).err).toContain('no context @nobody');
    const { out } = await rig.run('context', 'show', 'jobs/7', '--json');
    expect(JSON.parse(out)).toMatchObject({ name: 'jobs/7' });
    expect((await rig.run('context', 'show', 'nobody')).err).toContain('no context @nobody');
    expect(await rig.run('context', 'show', '7/jobs')).toMatchObject({ code: 2, out: '' });
  });

  it('can be changed, taken away and listed by their beginning', async () => {
    using rig = new CliRig();
    for (const name of ['a/1', 'a/2', 'b']) await rig.run('context', 'create', '--name', name);
    expect(await rig.run('context', 'rename', '@b', 'a/3')).toEqual({ code: 0, out: '', err: '' });
    const listed = await rig.run('context', 'list', '--prefix', 'a/', '--json');
    expect(listed.out.match(/"name":"[^"]+"/g)).toHaveLength(3);
    expect((await rig.run('context', 'rename', '3', 'a/1')).code).toBe(1);
    await rig.run('context', 'rename', '@a/3');
    expect((await rig.run('context', 'show', '3')).out).not.toContain('name');
    expect((await rig.run('context', 'create', '--or-get')).code).toBe(2);
  });
});

describe('quipu context move', () => {
  it('moves the head back, to nothing and only from the head that is expected', async () => {
    using rig = new CliRig();
    await sixTurns(rig);
    expect(await rig.run('context', 'move', '1', '2')).toEqual({ code: 0, out: '', err: '' });
    expect((await rig.run('context', 'show', '1')).out).toContain('2 at depth 1');
    const refused = await rig.run('context', 'move', '1', '1', '--expect-head', '6');
    expect(refused).toMatchObject({ code: 1, out: '' });
    const cleared = await rig.run('context', 'move', '1', '0', '--json');
    expect(JSON.parse(cleared.out)).toMatchObject({ head: '0' });
    const root = ['--parent', '0', '--type', 'note', '--text', 'anew', '--json'];
    expect(JSON.parse((await rig.run('context', 'append', '1', ...root)).out)).toMatchObject({
      parent: '0',
    });
  });
});
