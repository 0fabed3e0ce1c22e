import { CliRig } from '../../../test/cli/rig.ts';
import { sixTurns } from '../../../test/cli/six-turns.ts';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';

describe('quipu blob create', () => {
  it('prints the hash of a file or of standard input', async () => {
    using rig = new CliRig();
    writeFileSync(join(rig.cwd, 'a.txt'), 'abc');
    const { code, out, err } = await rig.run('blob', 'create', 'a.txt');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toBe('6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85\n');
    const again = await rig.feed('abc', 'blob', 'create', '-', '--sha256', '--json');
    expect(JSON.parse(again.out)).toMatchObject({
      hash: out.trim(),
      sha256: 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
      size: 3,
      existed: true,
    });
  });

  it('names a file that is missing and makes no store', async () => {
    using rig = new CliRig();
    expect(await rig.run('blob', 'create', 'none')).toEqual({
      code: 1,
      out: '',
      err: 'quipu: there is no file none\n',
    });
    expect((await rig.run('stats')).err).toContain('quipu init');
  });

  it('shows a bar on a terminal', async () => {
    using rig = new CliRig();
    rig.isTerminal = true;
    writeFileSync(join(rig.cwd, 'a.txt'), 'abc');
    const { err } = await rig.run('blob', 'create', 'a.txt');
    expect(err).toContain('100% 3 B');
  });

  it('refuses a directory and makes no store', async () => {
    using rig = new CliRig();
    expect(await rig.run('blob', 'create', '.')).toMatchObject({ code: 2, out: '' });
    expect((await rig.run('stats')).err).toContain('quipu init');
  });
});

describe('quipu blob get', () => {
  const BYTES = Uint8Array.from({ length: 1000 }, (_, index) => index % 251);
  let rig: CliRig;
  let hash: string;
  beforeEach(async () => {
    rig = new CliRig();
    hash = (await rig.feed(BYTES, 'blob', 'create', '-')).out.trim();
    return () => rig[Symbol.dispose]();
  });

  it('prints the bytes, all or some', async () => {
    await rig.run('blob', 'get', hash);
    expect([...rig.printed]).toEqual([...BYTES]);
    await rig.run('blob', 'get', `b3:${hash}`, '--start', '10', '--end', '20');
    expect([...rig.printed]).toEqual([...BYTES.subarray(10, 20)]);
  });

  it('writes a file', async () => {
    expect(await rig.run('blob', 'get', hash, '--out', 'x')).toEqual({ code: 0, out: '', err: '' });
    expect([...readFileSync(join(rig.cwd, 'x'))]).toEqual([...BYTES]);
  });

  it('tells a missing blob from a name that is none', async () => {
    expect(await rig.run('blob', 'get', '0'.repeat(64))).toMatchObject({ code: 1, out: '' });
    expect(await rig.run('blob', 'get', 'nonsense')).toMatchObject({ code: 2, out: '' });
  });
});

describe('quipu blob show', () => {
  it('prints sizes', async () => {
    using rig = new CliRig();
    const hash = (await rig.feed('abc', 'blob', 'create', '-', '--sha256')).out.trim();
    const { code, out } = await rig.run('blob', 'show', hash);
    expect(code).toBe(0);
    expect(out).toContain(`hash    ${hash}\nsize    3 B\n`);
    const sum = 'blob:sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';
    expect(JSON.parse((await rig.run('blob', 'show', sum, '--json')).out)).toMatchObject({
      hash,
      size: 3,
      chunks: 0,
    });
  });

  it('says which blob is missing', async () => {
    using rig = new CliRig();
    await rig.run('init');
    const hash = '0'.repeat(64);
    expect(await rig.run('blob', 'show', hash)).toEqual({
      code: 1,
      out: '',
      err: `quipu: there is no blob ${hash}\n`,
    });
  });
});

describe('the beginning of a hash', () => {
  it('stands for the blob that alone begins so', async () => {
    using rig = new CliRig();
    const hash = (await rig.feed('abc', 'blob', 'create', '-')).out.trim();
    for (const short of [hash.slice(0, 6), `b3:${hash.slice(0, 12)}`, hash.slice(0, 63)]) {
      expect((await rig.run('blob', 'get', short)).out).toBe('abc');
    }
    expect(JSON.parse((await rig.run('blob', 'show', hash.slice(0, 8), '--json')).out)).toEqual(
      expect.objectContaining({ hash }),
    );
    expect((await rig.run('blob', 'rm', hash.slice(0, 8), '--reason', 'why')).out).toContain(hash);
    expect(await rig.run('blob', 'get', hash.slice(0, 8))).toEqual({
      code: 1,
      out: '',
      err: `quipu: there is no blob ${hash.slice(0, 8)}…\n`,
    });
    expect(await rig.run('blob', 'get', hash.slice(0, 5))).toMatchObject({ code: 2, out: '' });
  });

  it('is refused with all that it fits', async () => {
    using rig = new CliRig();
    const hashes: string[] = [];
    // Both hashes begin with 93745e.
    for (const text of ['text 8190', 'text 10290']) {
      hashes.push((await rig.feed(text, 'blob', 'create', '-')).out.trim());
    }
    const { code, out, err } = await rig.run('blob', 'rm', '93745e', '--reason', 'why');
    expect({ code, out }).toEqual({ code: 2, out: '' });
    const listed = hashes.toSorted().map((hash) => `\n  ${hash}`);
    expect(err).toContain(`93745e matches several; give more digits:${listed.join('')}`);
    const [first = ''] = hashes;
    expect((await rig.run('blob', 'get', first.slice(0, 12))).out).toBe('text 8190');
  });
});

describe('quipu blob list', () => {
  it('lists hashes with their sizes, page by page', async () => {
    using rig = new CliRig();
    await rig.run('init');
    expect(await rig.run('blob', 'list')).toEqual({ code: 0, out: '', err: '' });
    const hashes: string[] = [];
    for (const text of ['a', 'bc', 'def']) {
      hashes.push((await rig.feed(text, 'blob', 'create', '-')).out.trim());
    }
    const inOrder = hashes.toSorted();
    const { out, err } = await rig.run('blob', 'list', '-n', '2');
    const lines = out.split('\n');
    expect(lines[0]).toMatch(/^BLOB +SIZE +STORED$/);
    expect(lines.slice(1, 3).map((line) => line.slice(0, 64))).toEqual(inOrder.slice(0, 2));
    expect(err).toBe(`more: --cursor ${inOrder[1]}\n`);
    const rest = await rig.run('blob', 'list', '--cursor', inOrder[1] ?? '', '--json');
    expect(JSON.parse(rest.out)).toMatchObject({ hash: inOrder[2] });
    const one = await rig.run('blob', 'list', '--prefix', hashes[1]?.slice(0, 10) ?? '', '--json');
    expect(JSON.parse(one.out)).toMatchObject({ hash: hashes[1], size: 2 });
    expect(await rig.run('blob', 'list', '--prefix', 'xyz')).toMatchObject({ code: 2, out: '' });
  });
});

describe('quipu blob rm', () => {
  it('erases a blob that nobody uses', async () => {
    using rig = new CliRig();
    const hash = (await rig.feed('loose', 'blob', 'create', '-')).out.trim();
    expect(await rig.run('blob', 'rm', hash, '--reason', 'why')).toEqual({
      code: 0,
      out: `${hash}\n`,
      err: '',
    });
    expect((await rig.run('blob', 'show', hash)).code).toBe(1);
    expect((await rig.run('blob', 'rm', hash, '--reason', 'why')).code).toBe(1);
  });

  it('names the turns that use it', async () => {
    using rig = new CliRig();
    await sixTurns(rig);
    const hash = (await rig.feed('t3', 'blob', 'create', '-')).out.trim();
    const { code, out, err } = await rig.run('blob', 'rm', hash, '--reason', 'why');
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toContain('used by turns 3;');
    const all = await rig.run('blob', 'rm', hash, '--reason', 'why', '--everywhere', '--json');
    expect(JSON.parse(all.out)).toEqual({ hash, erased: true, usedBy: ['3'], neededBy: [] });
  });
});
