import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CliRig } from '../../../test/cli/rig.ts';

async function talk(rig: CliRig): Promise<void> {
  await rig.run('init');
  await rig.run('context', 'create');
  for (const text of ['before it', 'the needle\u001b[2J is here', 'after it']) {
    const payload = JSON.stringify({ role: 'user', content: text });
    await rig.run('context', 'append', '1', '--type', 'm', '--json-payload', payload);
  }
  await rig.run('context', 'fork', '2');
  await rig.run('chat', 'new', '--id', 'c');
  await rig.run('chat', 'append', 'c', '--role', 'user', '--text', 'a needle too', '--id', 'm1');
}

describe('quipu search', () => {
  it('prints hits with marked words and the command that shows them', async () => {
    using rig = new CliRig({ onDisk: true });
    await talk(rig);
    const { code, out } = await rig.run('search', 'needle', '--newest', '--around', '1');
    expect(code).toBe(0);
    expect(out).toMatch(
      /^chat c {2}m1 {2}user {2}.*\n {2}a »needle« too\n.*\n {2}quipu chat show c\n/,
    );
    expect(out).toMatch(
      /^context 1 {2}2 {2}user {2}\S+ {2}also in 2\n {2}the »needle«\\?.* is here\n/m,
    );
    expect(out).toContain('    1 user: before it\n  > 2 user: the needle');
    expect(out).toContain('  quipu context turn 2\n');
    expect(out).not.toContain('\u001b');
    const none = { code: 0, out: '', err: 'nothing was found\n' };
    expect(await rig.run('search', 'haystack')).toEqual(none);
    expect((await rig.run('search', 'haystack', '--json')).err).toBe('');
    expect((await rig.run('context', 'turn', '2')).code).toBe(0);
  });

  it('prints commands that can be pasted, whatever the store is called', async () => {
    using rig = new CliRig({ onDisk: true });
    const store = ['--store', join(rig.cwd, "a b's")];
    await rig.run('init', ...store);
    await rig.run('chat', 'new', '--id', 'c', ...store);
    await rig.run('chat', 'append', 'c', '--role', 'user', '--text', 'a needle', ...store);
    const { out } = await rig.run('search', 'needle', ...store);
    const place = `'${store[1]?.replaceAll("'", `'\\''`)}'`;
    expect(out).toContain(`  quipu chat show c --store ${place}\n`);
  });

  it('prints no control codes of a role or a type', async () => {
    using rig = new CliRig({ onDisk: true });
    await rig.run('init');
    await rig.run('context', 'create');
    for (const content of ['before it', 'the needle', 'after it']) {
      const payload = JSON.stringify({ role: 'user\u001b]0;mine\u0007', content });
      await rig.run('context', 'append', '1', '--type', 'm', '--json-payload', payload);
    }
    const { out } = await rig.run('search', 'needle', '--around', '1', '--facets', '--group');
    expect(out).toContain('before it');
    expect(out).not.toMatch(/[^\P{Cc}\n]/u);
  });

  it('prints JSON, groups, facets and pages', async () => {
    using rig = new CliRig({ onDisk: true });
    await talk(rig);
    const all = await rig.run('search', 'it', 'OR', 'needle', '--json', '--facets', '-n', '2');
    const answer = JSON.parse(all.out) as { hits: unknown[]; cursor: string; matches: number };
    expect(answer).toMatchObject({ matches: 4, ranked: 'all', index: { upToDate: true } });
    expect(answer.hits).toHaveLength(2);
    expect(JSON.parse(all.err)).toEqual({ cursor: answer.cursor });
    const next = await rig.run('search', 'it OR needle', '-n', '2', '--cursor', answer.cursor);
    expect(next).toMatchObject({ code: 0, err: '' });
    const grouped = await rig.run('search', 'it OR needle', '--group', '--facets');
    expect(grouped.out).toMatch(/^context 1: 3 matches$/m);
    expect(grouped.out).toMatch(/^kind: context 3, chat 1$/m);
  });

  it('shows where a query is wrong', async () => {
    using rig = new CliRig({ onDisk: true });
    await talk(rig);
    const { code, err } = await rig.run('search', 'one "two');
    expect(code).toBe(2);
    expect(err).toMatch(/quote is not closed\n {2}one "two\n {6}\^\n/);
    expect((await rig.run('search', ' ')).code).toBe(2);
  });
});
