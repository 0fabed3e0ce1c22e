import { describe, expect, it } from 'vitest';
import { CliRig } from '../../../test/cli/rig.ts';

/** Context 1 `@main` with turns 1, 2 and 5, context 2 forked at turn 1 with turns 3 and 4, context 3 with turn 6. */
async function threeBranches(rig: CliRig): Promise<void> {
  const append = (context: string, text: string): Promise<unknown> =>
    rig.run('context', 'append', context, '--type', 'note', '--text', text);
  await rig.run('context', 'create', '--name', 'main', '--title', 'the parser');
  await append('1', 'one');
  await append('1', 'two');
  await rig.run('context', 'fork', '1');
  await append('2', 'three');
  await append('2', 'four');
  await append('1', 'five');
  await rig.run('context', 'create');
  const said = JSON.stringify({ role: 'user', content: [{ type: 'text', text: 'hello\nyou' }] });
  await rig.run('context', 'append', '3', '--type', 'chat.message', '--json-payload', said);
}

describe('quipu log', () => {
  it('shows the context that was used last, newest first', async () => {
    using rig = new CliRig();
    await threeBranches(rig);
    expect(await rig.run('log')).toEqual({
      code: 0,
      out: 'turn 6 (context 3) chat.message, just now\n    user: hello you\n',
      err: '',
    });
    const { out } = await rig.run('log', '@main', '--oneline', '-n', '2');
    expect(out).toBe('5 (context 1 @main) note five\n2 note two\n');
  });

  it('shows the ledger of an import only to those who name it', async () => {
    using rig = new CliRig();
    await threeBranches(rig);
    await rig.run('context', 'create', '--kind', 'import.ledger');
    await rig.run('context', 'append', '4', '--type', 'import.file', '--text', 'a.jsonl');
    expect((await rig.run('log')).out).toMatch(/^turn 6 \(context 3\)/);
    expect((await rig.run('log', '--all', '-n', '1')).out).toMatch(/^turn 6 \(context 3\)/);
    expect((await rig.run('log', '4')).out).toMatch(/^turn 7 \(context 4\)/);
  });

  it('draws the branches of a tree', async () => {
    using rig = new CliRig();
    await threeBranches(rig);
    expect(await rig.run('log', '2', '--graph')).toEqual({
      code: 0,
      out: [
        '* turn 5 (context 1 @main "the parser") note, just now',
        '|    five',
        '| * turn 4 (context 2) note, just now',
        '| |    four',
        '| * turn 3 note, just now',
        '| |    three',
        '* | turn 2 note, just now',
        '| |    two',
        '|/',
        '* turn 1 note, just now',
        '    one',
        '',
      ].join('\n'),
      err: '',
    });
    rig.env['LANG'] = 'en_US.UTF-8';
    const { out } = await rig.run('log', '--all', '--graph', '--oneline');
    expect(out).toBe(
      [
        '● 6 (context 3) chat.message user: hello you',
        '● 5 (context 1 @main) note five',
        '│ ● 4 (context 2) note four',
        '│ ● 3 note three',
        '● │ 2 note two',
        '├─╯',
        '● 1 note one',
        '',
      ].join('\n'),
    );
  });

  it('has colours on a terminal alone, and heeds NO_COLOR', async () => {
    using rig = new CliRig();
    await threeBranches(rig);
    const esc = '\u001b[';
    const log = async (): Promise<string> => (await rig.run('log', '1', '--oneline')).out;
    expect(await log()).not.toContain(esc);
    rig.columns = 80;
    expect(await log()).toContain(
      `${esc}33m5${esc}0m ${esc}36m(context 1 @main)${esc}0m note five`,
    );
    rig.env['NO_COLOR'] = '1';
    expect(await log()).not.toContain(esc);
    delete rig.env['NO_COLOR'];
    rig.env['TERM'] = 'dumb';
    expect(await log()).not.toContain(esc);
  });

  it('stays in the width of the terminal, and keeps control characters from it', async () => {
    using rig = new CliRig();
    const create = ['context', 'create', '--title', '\u202eowned', '--name', '\u001b[2J'];
    expect(await rig.run(...create)).toMatchObject({ code: 0 });
    const hostile = `\u001b[31m\u202e${'漢字'.repeat(40)}`;
    await rig.run('context', 'append', '1', '--type', 'note', '--text', hostile);
    await rig.run('context', 'append', '1', '--type', 'note', '--text', 'y'.repeat(100_000));
    rig.columns = 40;
    rig.env['NO_COLOR'] = '1';
    for (const flags of [[], ['--oneline'], ['--graph'], ['--graph', '--oneline']]) {
      const { out } = await rig.run('log', '1', ...flags);
      for (const sign of ['\u001b', '\u202e']) expect(out).not.toContain(sign);
      for (const line of out.split('\n')) {
        const columns = Array.from(line).reduce(
          (sum, char) => sum + (/[漢字]/.test(char) ? 2 : 1),
          0,
        );
        expect(columns).toBeLessThanOrEqual(40);
      }
    }
    // A payload that is too large for one line is not read.
    expect((await rig.run('log', '1')).out).toContain('    (100 kB)\n');
  });

  it('prints JSON with lanes and heads', async () => {
    using rig = new CliRig();
    await threeBranches(rig);
    const { out } = await rig.run('log', '1', '--graph', '--json');
    const rows = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    expect(rows.slice(0, 2)).toMatchObject([
      {
        id: '5',
        lane: 0,
        heads: [{ context: '1', name: 'main', title: 'the parser' }],
        payload: 'five',
      },
      { id: '4', lane: 1, heads: [{ context: '2' }], parent: '3' },
    ]);
    expect(rows).toHaveLength(5);
  });

  it('shows nothing for an empty store, and says what is wrong', async () => {
    using rig = new CliRig();
    await rig.run('init');
    expect(await rig.run('log', '--graph')).toEqual({ code: 0, out: '', err: '' });
    expect(await rig.run('log', '9', '--graph')).toMatchObject({ code: 1, out: '' });
    expect(await rig.run('log', '1', '--all')).toMatchObject({ code: 2, out: '' });
  });

  it('says so when it has not looked at all contexts', async () => {
    using rig = new CliRig();
    await using store = await rig.open();
    for (let n = 0; n < 2001; n += 1) await store.contexts.create();
    expect((await rig.run('log', '--all')).err).toMatch(/^only the 2000 contexts/);
    expect((await rig.run('log', '1')).err).toBe('');
  });
});
