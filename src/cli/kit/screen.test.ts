import { describe, expect, it } from 'vitest';
import { CliRig } from '../../../test/cli/rig.ts';
import { toScreen } from './text.ts';

const NOW = Date.parse('2026-01-02T00:00:00Z');
const screen = (columns: number | undefined, env: Record<string, string> = {}) =>
  toScreen({ columns, env, now: () => NOW });

describe('a screen', () => {
  it('tells a terminal how long ago, and everything else when', () => {
    const at = NOW - 3 * 3_600_000;
    expect(screen(80).time(at)).toBe('3 hours ago');
    expect(screen(80).time('2026-01-01T23:59:00.123Z')).toBe('59 seconds ago');
    expect(screen(undefined).time(at)).toBe('2026-01-01T21:00:00Z');
    expect(screen(undefined).time('2026-01-01T23:59:00.123Z')).toBe('2026-01-01T23:59:00.123Z');
    for (const columns of [80, undefined]) expect(screen(columns).time('one day')).toBe('one day');
  });

  it('paints headings and names on a terminal alone, and heeds NO_COLOR', () => {
    const rows = [
      ['7', 'one'],
      ['12', ''],
    ];
    const plain = 'ID  TITLE\n 7  one\n12\n';
    expect(screen(80).table(['ID', 'TITLE'], rows, ['ID'])).toBe(
      '\u001b[1mID\u001b[0m  \u001b[1mTITLE\u001b[0m\n \u001b[33m7\u001b[0m  one\n\u001b[33m12\u001b[0m\n',
    );
    for (const other of [
      screen(undefined),
      screen(80, { NO_COLOR: '1' }),
      screen(80, { TERM: 'dumb' }),
    ]) {
      expect(other.table(['ID', 'TITLE'], rows, ['ID'])).toBe(plain);
    }
  });

  it('lets nothing that is stored paint', () => {
    const [, row] = screen(80, { NO_COLOR: '1' })
      .table(['ID'], [['\u001b[31mred']])
      .split('\n');
    expect(row).toBe('\\u001b[31mred');
  });
});

describe('lists', () => {
  const LISTS = ['context', 'chat', 'workflow', 'session', 'queue', 'blob'] as const;

  async function filled(): Promise<CliRig> {
    const rig = new CliRig({ onDisk: true });
    await rig.run('context', 'create');
    await rig.run('chat', 'create');
    await rig.run('workflow', 'create', 'w', '--prompt', 'p', '--bundle', '0'.repeat(64));
    await rig.run('session', 'create');
    await rig.run('queue', 'create', 'inbox');
    await rig.feed('x', 'blob', 'create', '-');
    return rig;
  }

  it('have colours and ages on a terminal, and neither in a pipe or as JSON', async () => {
    using rig = await filled();
    for (const noun of LISTS) {
      rig.columns = undefined;
      const piped = await rig.run(noun, 'list');
      expect(piped).toMatchObject({ code: 0, err: '' });
      expect(piped.out.split('\n').length).toBeGreaterThan(2);
      expect(piped.out).not.toContain('\u001b');
      expect(piped.out).not.toMatch(/ ago|just now/);
      const json = await rig.run(noun, 'list', '--json');
      rig.columns = 120;
      expect((await rig.run(noun, 'list', '--json')).out).toBe(json.out);
      const seen = (await rig.run(noun, 'list')).out;
      expect(seen).toContain('\u001b[33m');
      expect(seen.includes('just now')).toBe(piped.out.includes('UPDATED'));
      rig.env['NO_COLOR'] = '1';
      expect((await rig.run(noun, 'list')).out).not.toContain('\u001b');
      delete rig.env['NO_COLOR'];
    }
  });
});
