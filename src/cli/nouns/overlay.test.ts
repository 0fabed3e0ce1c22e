import { CliRig } from '../../../test/cli/rig.ts';
import { sixTurns } from '../../../test/cli/six-turns.ts';
import { describe, expect, it } from 'vitest';

describe('quipu context patch', () => {
  it('prints the number of the patch', async () => {
    using rig = new CliRig();
    await sixTurns(rig);
    expect(await rig.run('context', 'patch', '2', '--text', 'b')).toEqual({
      code: 0,
      out: '1\n',
      err: '',
    });
    const { out } = await rig.run('context', 'patch', '2', '--json-payload', '[2]', '--json');
    expect(JSON.parse(out)).toMatchObject({
      seq: 2,
      turn: '2',
      tombstone: false,
      encoding: 'json',
    });
  });

  it('compares the newest patch when told', async () => {
    using rig = new CliRig();
    await sixTurns(rig);
    const patch = ['context', 'patch', '2', '--text', 'b', '--expect-seq', '0'];
    expect(await rig.run(...patch)).toMatchObject({ code: 0 });
    expect(await rig.run(...patch)).toMatchObject({ code: 1, out: '' });
  });

  it('needs one payload', async () => {
    using rig = new CliRig();
    await sixTurns(rig);
    expect(await rig.run('context', 'patch', '2')).toMatchObject({ code: 2, out: '' });
  });
});

describe('quipu context tombstone', () => {
  it('hides the payload and shows the reason', async () => {
    using rig = new CliRig();
    await sixTurns(rig);
    expect(await rig.run('context', 'tombstone', '2', '--reason', 'mistake')).toEqual({
      code: 0,
      out: '1\n',
      err: '',
    });
    const { out } = await rig.run('context', 'turn', '2', '--json');
    const turn = JSON.parse(out) as object;
    expect(turn).toMatchObject({ tombstone: true, reason: 'mistake', size: 0 });
    expect(turn).not.toHaveProperty('payload');
  });

  it('needs a reason', async () => {
    using rig = new CliRig();
    await sixTurns(rig);
    expect(await rig.run('context', 'tombstone', '2')).toMatchObject({ code: 2, out: '' });
  });
});

describe('quipu context patches', () => {
  it('lists patches, oldest first', async () => {
    using rig = new CliRig();
    await sixTurns(rig);
    expect(await rig.run('context', 'patches', '2')).toEqual({ code: 0, out: '', err: '' });
    await rig.run('context', 'patch', '2', '--text', 'b');
    await rig.run('context', 'tombstone', '2', '--reason', 'gone');
    expect((await rig.run('context', 'patches', '2')).out).toBe(
      'SEQ  WHAT       CREATED               ENCODING  SIZE\n' +
        '  1  patch      2023-11-14T22:13:20Z  text       1 B\n' +
        '  2  tombstone  2023-11-14T22:13:20Z  text       4 B\n',
    );
    const { out } = await rig.run('context', 'patches', '2', '--json');
    expect(
      out
        .trimEnd()
        .split('\n')
        .map((line) => (JSON.parse(line) as { seq: number }).seq),
    ).toEqual([1, 2]);
  });
});

describe('quipu context erase', () => {
  it('prints what was erased, and shows the reason from then on', async () => {
    using rig = new CliRig();
    await sixTurns(rig);
    const before = JSON.parse((await rig.run('context', 'turn', '2', '--json')).out) as object;
    const { code, out } = await rig.run('context', 'erase', '2', '--reason', 'a password');
    expect(code).toBe(0);
    expect(before).toMatchObject({ payloadHash: out.trim() });
    const after = JSON.parse((await rig.run('context', 'turn', '2', '--json')).out) as object;
    expect(after).toMatchObject({ tombstone: true, reason: 'a password' });
    expect(after).not.toHaveProperty('payloadHash');
    expect((await rig.run('blob', 'get', out.trim())).code).toBe(1);
  });

  it('names the others that use the bytes, and erases them all when told', async () => {
    using rig = new CliRig();
    await sixTurns(rig);
    await rig.run('context', 'append', '1', '--type', 'note', '--text', 't2');
    const refused = await rig.run('context', 'erase', '2', '--reason', 'why');
    expect(refused).toMatchObject({ code: 1, out: '' });
    expect(refused.err).toContain('used by turns 7;');
    const json = await rig.run('context', 'erase', '2', '--reason', 'why', '--json');
    expect(JSON.parse(json.out)).toMatchObject({
      turn: '2',
      erased: false,
      blobs: [{ erased: false, usedBy: ['2', '7'] }],
    });
    const all = await rig.run('context', 'erase', '2', '--reason', 'why', '--everywhere', '--json');
    expect(JSON.parse(all.out)).toMatchObject({ erased: true });
    expect((await rig.run('context', 'turn', '7', '--json')).out).toContain('"tombstone":true');
  });

  it('needs a reason', async () => {
    using rig = new CliRig();
    await sixTurns(rig);
    expect(await rig.run('context', 'erase', '2')).toMatchObject({ code: 2, out: '' });
  });
});

describe('quipu context pin', () => {
  it('keeps a turn when its context goes', async () => {
    using rig = new CliRig();
    await sixTurns(rig);
    expect(await rig.run('context', 'pin', '2')).toEqual({ code: 0, out: '', err: '' });
    await rig.run('context', 'rm', '1');
    await rig.run('gc', '--grace', '0', '--all');
    expect((await rig.run('context', 'turn', '2', '--raw')).out).toBe('t2');
    expect((await rig.run('context', 'turn', '3', '--raw')).code).toBe(1);
  });

  it('needs a turn that is there', async () => {
    using rig = new CliRig();
    await sixTurns(rig);
    expect((await rig.run('context', 'pin', '99')).code).toBe(1);
    const { out } = await rig.run('context', 'pin', '1', '--reason', 'why not', '--json');
    expect(out).toBe('{"turn":"1","pinned":true}\n');
  });
});

describe('quipu context unpin', () => {
  it('takes a pin back, once', async () => {
    using rig = new CliRig();
    await sixTurns(rig);
    await rig.run('context', 'pin', '2');
    expect((await rig.run('context', 'unpin', '2', '--json')).out).toBe(
      '{"turn":"2","pinned":false}\n',
    );
    expect(await rig.run('context', 'unpin', '2')).toMatchObject({ code: 1, out: '' });
  });
});

describe('quipu context pins', () => {
  it('lists turns and reasons', async () => {
    using rig = new CliRig();
    await sixTurns(rig);
    expect((await rig.run('context', 'pins')).out).toBe('');
    await rig.run('context', 'pin', '5', '--reason', 'quoted');
    await rig.run('context', 'pin', '2');
    expect((await rig.run('context', 'pins')).out).toBe('TURN  REASON\n   2\n   5  quoted\n');
    expect((await rig.run('context', 'pins', '--json')).out).toBe(
      '{"turn":"2"}\n{"turn":"5","reason":"quoted"}\n',
    );
  });
});
