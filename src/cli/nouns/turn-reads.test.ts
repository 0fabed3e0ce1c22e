import { CliRig } from '../../../test/cli/rig.ts';
import { payloadsOf, sixTurns } from '../../../test/cli/six-turns.ts';
import { describe, expect, it } from 'vitest';

describe('quipu context last', () => {
  it('prints a table and how to see older turns', async () => {
    using rig = new CliRig();
    await sixTurns(rig);
    expect(await rig.run('context', 'last', '1', '-n', '2')).toEqual({
      code: 0,
      out:
        'TURN  DEPTH  TYPE  CREATED               SIZE  PAYLOAD\n' +
        '   5      4  note  2023-11-14T22:13:20Z   2 B  t5\n' +
        '   6      5  note  2023-11-14T22:13:20Z   2 B  t6\n',
      err: 'older: quipu context before 1 5\n',
    });
  });

  it('prints one JSON object a line, without payloads when told', async () => {
    using rig = new CliRig();
    await sixTurns(rig);
    const { out, err } = await rig.run('context', 'last', '1', '--json', '--no-payload');
    const turns = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { payload?: string });
    expect(turns.map((turn) => turn.payload)).toEqual(Array(6).fill(undefined));
    expect(err).toBe('');
  });

  it('cuts a page by bytes', async () => {
    using rig = new CliRig();
    await sixTurns(rig);
    const { out, err } = await rig.run('context', 'last', '1', '--json', '--max-bytes', '5');
    expect(out.trimEnd().split('\n')).toHaveLength(2);
    expect(JSON.parse(err)).toEqual({ cursor: '5' });
  });

  it('shows what is special about a turn', async () => {
    using rig = new CliRig();
    await sixTurns(rig);
    await rig.run('context', 'patch', '5', '--text', 'better');
    await rig.run('context', 'tombstone', '6', '--reason', 'secret');
    const { out } = await rig.run('context', 'last', '1', '-n', '2');
    expect(out).toContain('(patched) better\n');
    expect(out).toContain('(tombstone: secret)\n');
    expect((await rig.run('context', 'last', '1', '--as', 'original')).out).toContain('  t6\n');
  });

  it('prints nothing for an empty context, and refuses a page that is too long', async () => {
    using rig = new CliRig();
    await rig.run('context', 'create');
    expect(await rig.run('context', 'last', '1')).toEqual({ code: 0, out: '', err: '' });
    expect(await rig.run('context', 'last', '1', '-n', '10001')).toMatchObject({
      code: 2,
      out: '',
    });
  });
});

describe('quipu context before', () => {
  it('pages back with the cursor until the root', async () => {
    using rig = new CliRig();
    await sixTurns(rig);
    const page = await rig.run('context', 'before', '1', '5', '-n', '2', '--json');
    expect(payloadsOf(page.out)).toEqual(['t3', 't4']);
    expect(JSON.parse(page.err)).toEqual({ cursor: '3' });
    const rest = await rig.run('context', 'before', '1', '3', '--json');
    expect(payloadsOf(rest.out)).toEqual(['t1', 't2']);
    expect(rest.err).toBe('');
  });

  it('names a turn that does not belong to the context', async () => {
    using rig = new CliRig();
    await sixTurns(rig);
    await rig.run('context', 'create');
    expect(await rig.run('context', 'before', '2', '3')).toMatchObject({ code: 1, out: '' });
  });
});

describe('quipu context range', () => {
  it('prints turns by depth, the last one not included', async () => {
    using rig = new CliRig();
    await sixTurns(rig);
    expect(payloadsOf((await rig.run('context', 'range', '1', '1', '4', '--json')).out)).toEqual([
      't2',
      't3',
      't4',
    ]);
    expect((await rig.run('context', 'range', '1', '5', '100')).out).toContain('  t6\n');
  });

  it('says where to go on when a page is cut', async () => {
    using rig = new CliRig();
    await sixTurns(rig);
    const cut = await rig.run('context', 'range', '1', '1', '6', '--max-bytes', '4');
    expect(cut.err).toBe('more: quipu context range 1 3 6\n');
    const json = await rig.run('context', 'range', '1', '1', '6', '--max-bytes', '4', '--json');
    expect(JSON.parse(json.err)).toEqual({ nextDepth: 3 });
  });

  it.each([
    ['4', '2'],
    ['x', '2'],
    ['0', '2.5'],
  ])('refuses %s to %s', async (from, to) => {
    using rig = new CliRig();
    await sixTurns(rig);
    expect(await rig.run('context', 'range', '1', from, to)).toMatchObject({ code: 2, out: '' });
  });
});

describe('quipu context turn', () => {
  it('prints the facts of a turn', async () => {
    using rig = new CliRig();
    await sixTurns(rig);
    const { code, out, err } = await rig.run('context', 'turn', '2');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(/^turn {6}2\ncontext {3}1\nparent {4}1\ndepth {5}1\n/);
    expect(out).toMatch(/\nhash {6}[0-9a-f]{64}\npayload {3}t2\n$/);
  });

  it('prints bytes and nothing else with --raw', async () => {
    using rig = new CliRig();
    await rig.run('context', 'create');
    const bytes = Uint8Array.of(0, 0xff, 0x0a);
    await rig.feed(
      bytes,
      'context',
      'append',
      '1',
      '--type',
      'x',
      '--stdin',
      '--encoding',
      'bytes',
    );
    await rig.run('context', 'turn', '1', '--raw');
    expect([...rig.printed]).toEqual([...bytes]);
  });

  it('reads as of a patch', async () => {
    using rig = new CliRig();
    await sixTurns(rig);
    for (const text of ['b', 'c']) await rig.run('context', 'patch', '2', '--text', text);
    const read = async (as: string): Promise<string> =>
      (await rig.run('context', 'turn', '2', '--raw', '--as', as)).out;
    expect([
      await read('original'),
      await read('1'),
      await read('2'),
      await read('latest'),
    ]).toEqual(['t2', 'b', 'c', 'c']);
    expect(await rig.run('context', 'turn', '2', '--as', 'newest')).toMatchObject({ code: 2 });
  });

  it('says which turn is missing', async () => {
    using rig = new CliRig();
    await sixTurns(rig);
    expect(await rig.run('context', 'turn', '7')).toEqual({
      code: 1,
      out: '',
      err: 'quipu: there is no turn 7\n',
    });
  });
});
