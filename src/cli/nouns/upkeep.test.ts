import { CliRig } from '../../../test/cli/rig.ts';
import { sixTurns } from '../../../test/cli/six-turns.ts';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

describe('quipu gc', () => {
  it('says what would go, then frees it', async () => {
    using rig = new CliRig();
    await sixTurns(rig);
    await rig.run('context', 'fork', '2');
    await rig.run('context', 'rm', '1');
    const plan = await rig.run('gc', '--dry-run', '--grace', '0');
    expect(plan).toEqual({
      code: 0,
      out: 'in use           2 blobs\nspared as young  0 blobs\nwould go         4 blobs, 8 B\n',
      err: '',
    });
    const { out } = await rig.run('gc', '--grace', '0', '--all', '--json');
    expect(JSON.parse(out)).toMatchObject({ removedBlobs: 4, freedBytes: 8, dryRun: false });
    expect((await rig.run('context', 'turn', '3')).code).toBe(1);
    expect((await rig.run('context', 'turn', '2', '--raw')).out).toBe('t2');
  });

  it('spares what is young', async () => {
    using rig = new CliRig();
    await rig.feed('loose', 'blob', 'put', '-');
    const { out } = await rig.run('gc');
    expect(out).toMatch(/^spared as young +1 blobs$/m);
    expect(out).toMatch(/^removed +0 blobs, 0 B freed$/m);
  });

  it('wants a unit', async () => {
    using rig = new CliRig();
    await rig.run('init');
    expect(await rig.run('gc', '--grace', '10')).toMatchObject({ code: 2, out: '' });
  });
});

describe('quipu verify', () => {
  it('says what it read when all is well', async () => {
    using rig = new CliRig();
    await sixTurns(rig);
    const { code, out, err } = await rig.run('verify');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(/^turns +6$/m);
    expect(out).toMatch(/^problems +0$/m);
    const report = JSON.parse((await rig.run('verify', '--repair', '--json')).out) as object;
    expect(report).toMatchObject({ ok: true, checked: { turns: 6, blobs: 6 }, problems: [] });
  });

  it('lists what is wrong and where, and fails', async () => {
    using rig = new CliRig();
    await sixTurns(rig);
    rig.damageBlob();
    const { code, out, err } = await rig.run('verify');
    expect(code).toBe(1);
    expect(out).toMatch(/^problems +1$/m);
    expect(out).toMatch(
      /^HOW BAD +FILE +OFFSET +ID +WHAT\nlost +blobs +0 +[0-9a-f]{64} +the bytes/m,
    );
    expect(err).toBe('quipu: the store has 1 problem; restore what is lost from a backup\n');
    const json = await rig.run('verify', '--json');
    expect(JSON.parse(json.out)).toMatchObject({ ok: false, problems: [{ severity: 'lost' }] });
    expect(JSON.parse(json.err)).toMatchObject({ error: { code: 'CORRUPT' } });
  });
});

describe('quipu backup', () => {
  it('copies a store that can be restored, and the second time only what is new', async () => {
    using rig = new CliRig({ onDisk: true });
    await sixTurns(rig);
    const first = await rig.run('backup', 'copy', '--json');
    expect(first).toMatchObject({ code: 0, err: '' });
    expect(JSON.parse(first.out)).toMatchObject({ reusedBytes: 0 });
    const second = await rig.run('backup', 'copy');
    expect(second.out).toMatch(/^files +\d+\ncopied +.*\nthere before +[1-9].*\n$/);
    expect(await rig.run('restore', 'copy', 'again')).toMatchObject({ code: 0, err: '' });
    const found = await rig.run('--store', 'again', 'context', 'last', '1', '--json');
    expect(found.out.trimEnd().split('\n')).toHaveLength(6);
  });

  it('says why when it cannot', async () => {
    using rig = new CliRig();
    await rig.run('init');
    const { code, err } = await rig.run('backup', 'copy');
    expect(code).toBe(1);
    expect(err).toContain('the model keeps no files');
  });
});

describe('quipu restore', () => {
  it('never overwrites, and wants a backup', async () => {
    using rig = new CliRig({ onDisk: true });
    await rig.run('init');
    await rig.run('backup', 'copy');
    mkdirSync(join(rig.cwd, 'full'));
    writeFileSync(join(rig.cwd, 'full', 'mine'), 'text');
    expect(await rig.run('restore', 'copy', 'full')).toMatchObject({ code: 2, out: '' });
    expect((await rig.run('restore', 'nowhere', 'new')).code).not.toBe(0);
    const { out } = await rig.run('restore', 'copy', 'new', '--json');
    expect(JSON.parse(out)).toHaveProperty('copiedBytes');
  });
});

describe('quipu retain', () => {
  async function threeContexts(rig: CliRig): Promise<void> {
    for (const label of ['run', 'pinned', 'run']) {
      const made = await rig.run('context', 'create', '--title', `a ${label}`, '--label', label);
      await rig.run('context', 'append', made.out.trim(), '--type', 'note', '--text', 'ten bytes.');
    }
  }

  it('says which would go, then removes them', async () => {
    using rig = new CliRig();
    await threeContexts(rig);
    const plan = await rig.run('retain', '--max-size', '15B', '--dry-run');
    expect(plan.code).toBe(0);
    expect(plan.out).toBe(
      [
        'CONTEXT  UPDATED               SIZE  TITLE',
        '      3  2023-11-14T22:13:20Z  10 B  a run',
        '      1  2023-11-14T22:13:20Z  10 B  a run',
        '2 would go, 1 stay, 1 of them pinned',
        '',
      ].join('\n'),
    );
    const done = await rig.run('retain', '--max-size', '15B', '--keep', '1', '--json');
    expect(JSON.parse(done.out)).toMatchObject({ removed: [{ id: '1' }], kept: 2, dryRun: false });
    expect((await rig.run('context', 'show', '1')).code).toBe(1);
  });

  it('keeps what is young, and needs a limit', async () => {
    using rig = new CliRig();
    await threeContexts(rig);
    const { out } = await rig.run('retain', '--max-age', '90d', '--label', 'run');
    expect(out).toBe('0 removed, 2 stay, 0 of them pinned\n');
    expect(await rig.run('retain')).toMatchObject({ code: 2, out: '' });
  });
});
