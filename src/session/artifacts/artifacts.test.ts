import { describe, expect, it } from 'vitest';
import { RamIo } from '../files/ram-io.ts';
import { toAgentId, toSegment, Artifacts } from './artifacts.ts';

async function put(io: RamIo, ...names: readonly string[]): Promise<void> {
  await io.mkdir('/a');
  for (const name of names) await io.open(`/a/${name}`, 'create');
}

describe('names', () => {
  it.each([
    ['bash', 'bash'],
    ['mcp__srv/peek', 'mcp__srv_peek'],
    ['../../etc/passwd', 'etc_passwd'],
    [String.raw`a\b\c`, 'a_b_c'],
    ['..', 'tool'],
    ['/../', 'tool'],
    ['./escape', 'escape'],
    ['x'.repeat(500), 'x'.repeat(64)],
    [`${'a'.repeat(63)}/b`, 'a'.repeat(63)],
  ])('%s becomes %s', (tool, segment) => {
    expect(toSegment(tool, 'tool')).toBe(segment);
  });

  it('of agents have no dots of their own', () => {
    expect(toAgentId(undefined, 0, '../x')).toBe('0-x');
    expect(toAgentId('0-A', 2, 'a.b')).toBe('0-A.2-a_b');
    expect(toAgentId(undefined, 1, '..')).toBe('1-agent');
  });
});

describe('tool outputs', () => {
  it('are counted from 0, and the folder comes with the first', async () => {
    const io = new RamIo();
    const artifacts = new Artifacts(io, '/a');
    expect(await artifacts.listFiles()).toEqual([]);
    expect(await io.stat('/a')).toBeUndefined();
    expect((await artifacts.save('one', 'bash')).path).toBe('/a/0.bash.log');
    expect((await artifacts.save('two', 'bash')).id).toBe('1');
    expect(await artifacts.listFiles()).toEqual(['0.bash.log', '1.bash.log']);
  });

  it('go on after what is there, and never come back', async () => {
    const io = new RamIo();
    await put(io, '4.bash.log', '7.log', 'draft.txt', '0-Foo.md', '99999999999999999999.x.log');
    expect((await new Artifacts(io, '/a').save('x', 'bash')).id).toBe('5');
    await io.remove('/a/5.bash.log');
    await io.remove('/a/4.bash.log');
    // Also for one that opens the folder anew.
    expect((await new Artifacts(io, '/a').save('x', 'bash')).id).toBe('6');
  });

  it('have ids of their own, however many ask at once', async () => {
    const io = new RamIo();
    const [one, two] = [new Artifacts(io, '/a'), new Artifacts(io, '/a')];
    const saves = Array.from({ length: 100 }, (_, n) =>
      (n % 2 === 0 ? one : two).save(`text ${n}`, `tool${n % 3}`),
    );
    const ids = (await Promise.all(saves)).map(({ id }) => Number(id));
    expect(ids.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, n) => n));
  });

  it('are not announced when they could not be written', async () => {
    const io = new RamIo();
    const artifacts = new Artifacts(io, '/a');
    await artifacts.save('x', 'bash');
    io.rename = async (from) => {
      if (from.includes('.log')) throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' });
    };
    await expect(artifacts.save('y', 'bash')).rejects.toMatchObject({ code: 'DISK_FULL' });
    expect(await artifacts.listIds()).toEqual(['0']);
  });
});

describe('agent outputs', () => {
  it('are numbered, also below each other', async () => {
    const artifacts = new Artifacts(new RamIo(), '/a');
    expect(await artifacts.allocateAgent('Auth')).toBe('0-Auth');
    expect(await artifacts.allocateAgent('Api')).toBe('1-Api');
    expect(await artifacts.allocateAgent('Sub', '0-Auth')).toBe('0-Auth.0-Sub');
    expect(await artifacts.allocateAgents(['X', 'Y'])).toEqual(['2-X', '3-Y']);
    await expect(artifacts.allocateAgent('Sub', '../x')).rejects.toMatchObject({ code: 'INVALID' });
  });

  it('go on after what is there', async () => {
    const io = new RamIo();
    await put(io, '0-A.md', '3-B.md', '5-C.jsonl', '7.bash.log', '0-A.2-X.md', '0-A.2-X.5-Y.md');
    const artifacts = new Artifacts(io, '/a');
    expect(await artifacts.allocateAgent('N')).toBe('6-N');
    expect(await artifacts.allocateAgent('N', '0-A')).toBe('0-A.3-N');
  });

  it('are written once', async () => {
    const artifacts = new Artifacts(new RamIo(), '/a');
    const id = await artifacts.allocateAgent('Auth');
    await artifacts.saveAgentOutput(id, 'first');
    await expect(artifacts.saveAgentOutput(id, 'second')).rejects.toMatchObject({
      code: 'EXISTS',
      data: { what: 'artifact', id },
    });
    await expect(artifacts.saveAgentOutput('../x', 'y')).rejects.toMatchObject({ code: 'INVALID' });
    expect(artifacts.agentSessionFile(id)).toBe('/a/0-Auth.jsonl');
  });
});
