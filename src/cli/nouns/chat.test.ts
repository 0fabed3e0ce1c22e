import { CliRig } from '../../../test/cli/rig.ts';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';

let rig: CliRig;
beforeEach(async () => {
  rig = new CliRig();
  await rig.run('chat', 'new', '--id', 'c', '--title', 'a talk');
  await rig.run('chat', 'append', 'c', '--role', 'user', '--text', 'hi', '--id', 'm1');
  return () => rig[Symbol.dispose]();
});

const out = async (...argv: string[]): Promise<string> => {
  const { code, out: text, err } = await rig.run('chat', ...argv);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return text;
};
const parsed = async (...argv: string[]): Promise<unknown> =>
  JSON.parse(await out(...argv, '--json'));

describe('quipu chat', () => {
  it('prints ids alone, and objects with --json', async () => {
    expect(await out('new')).toMatch(/^[0-9a-z]{26}\n$/);
    expect(await parsed('new', '--pinned')).toMatchObject({ pinned: true, events: 0 });
    expect(await out('append', 'c', '--role', 'user', '--text', 'x', '--id', 'm2')).toBe('m2\n');
    expect(await out('edit', 'c', 'm1', '--text', 'hello')).toBe('3\n');
    expect(await out('fork', 'c', 'm1', '--branch', 'b')).toBe('b\n');
    expect(
      await rig.feed(
        'from input',
        'chat',
        'append',
        'c',
        '--role',
        'tool',
        '--stdin',
        '--branch',
        'b',
      ),
    ).toMatchObject({ code: 0 });
    expect(await out('show', 'c', '--branch', 'b')).toMatch(
      /^user {2}.* edited\n {2}hello\ntool {2}.*\n {2}from input\n$/,
    );
    expect(await parsed('show', 'c', '-n', '1')).toMatchObject({
      title: 'a talk',
      messages: [{ id: 'm2' }],
      before: 2,
    });
    expect(await out('search', 'c', 'INPUT')).toContain('from input');
    expect(await out('list')).toMatch(/^CHAT +EVENTS .*\n(?:.*\n)*c +5 .* a talk\n/);
  });

  it('shows text that cannot take over the terminal', async () => {
    await out('append', 'c', '--role', 'user', '--text', 'a\u001b[2Jb\nc');
    expect(await out('show', 'c')).toContain('  a\\u001b[2Jb\n  c\n');
  });

  it('asks, answers and dismisses', async () => {
    const questions = '[{"id":"q","text":"Sure?","kind":"yes_no"}]';
    const batch = (await out('ask', 'c', '--questions', questions)).trim();
    expect(await out('show', 'c')).toContain(`${batch}  waits for answers\n  q: Sure?\n`);
    expect(await rig.run('chat', 'answer', 'c', batch, '--answers', '{"q":"maybe"}')).toMatchObject(
      { code: 2 },
    );
    expect(await out('answer', 'c', batch, '--answers', '{"q":"yes"}')).toBe('3\n');
    expect(await out('show', 'c')).toContain(`${batch}  answered\n  q: Sure? -> yes\n`);
    const shown = { clarifications: [{ batch_id: batch, questions: [{ answer: 'yes' }] }] };
    expect(await parsed('show', 'c')).toMatchObject(shown);
    expect(await rig.run('chat', 'dismiss', 'c', batch)).toMatchObject({ code: 2 });
    const second = (await out('ask', 'c', '--questions', questions, '--title', 't')).trim();
    expect(await parsed('dismiss', 'c', second, '--reason', 'no')).toMatchObject({ seq: 5 });
  });

  it('goes on with a message that was not completed, and ends one', async () => {
    const event = (seq: number, id: string): object => ({
      schema_version: 1,
      seq,
      event_id: `e${seq}`,
      at: '2026-11-15T12:00:00.000Z',
      type: 'message_stream_delta',
      payload: { message_id: id, role: 'assistant', delta: 'so far' },
    });
    const events = [event(1, 'a'), event(2, 'b')];
    const text = JSON.stringify({ quipu_chat: 1, meta: { session_id: 'half' }, events });
    writeFileSync(join(rig.cwd, 'half.json'), text);
    await out('import', 'half.json');
    expect(await out('show', 'half')).toContain('a  not completed');
    const rest = Buffer.from(' and the rest \u{1faa2}');
    expect(await rig.feed(rest, 'chat', 'resume', 'half', 'a')).toMatchObject({ code: 0 });
    await out('complete', 'half', 'b', '--interrupted');
    const shown = await out('show', 'half');
    expect(shown).toContain('a\n  so far and the rest \u{1faa2}\n');
    expect(shown).toContain('b  interrupted\n  so far\n');
    expect(await rig.run('chat', 'complete', 'half', 'b')).toMatchObject({ code: 2 });
  });

  it('writes to a file that is there with --force only', async () => {
    expect(await out('export', 'c', '--out', 'c.md')).toBe('');
    const refused = await rig.run('chat', 'export', 'c', '--out', 'c.md');
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('--force') as string });
    expect(await out('export', 'c', '--out', 'c.md', '--force')).toBe('');
  });

  it('registers types of events', async () => {
    expect(await out('register', 'app.note', '--about', 'a note')).toBe('app.note\n');
    expect(await out('types')).toMatch(/app\.note .* a note\n$/);
    expect(await out('register', 'app.note', '--forget')).toBe('');
    expect(await out('types', '--json')).toBe('');
  });

  it('redacts, attaches, archives and retains', async () => {
    writeFileSync(join(rig.cwd, 'x.txt'), 'bytes');
    expect(await out('attach', 'c', 'x.txt', '--message', 'm1')).toMatch(/^[0-9a-f]{64}\n$/);
    expect(await out('redact', 'c', 'm1', '--reason', 'r')).toBe('hidden\n');
    const questions = '[{"id":"q","text":"Sure?","kind":"yes_no"}]';
    const batch = (await out('ask', 'c', '--questions', questions)).trim();
    expect(await out('redact', 'c', batch, '--batch', '--reason', 'r')).toBe('hidden\n');
    expect(await out('redact', 'c', 'm1', '--reason', 'r', '--erase')).toBe(
      'erased 2 lines, 1 blobs\n',
    );
    expect(await out('update', 'c', '--pinned', '--title', 'kept')).toBe('c\n');
    expect(await out('retain', '--max-age', '0', '--dry-run')).toBe(
      '0 would be archived, 1 stay, 1 of them pinned\n',
    );
    await out('update', 'c', '--no-pinned');
    expect(await out('retain', '--max-size', '0')).toMatch(
      /^CHAT(?:.*\n)*1 archived, 0 stay, 0 of them pinned\n$/,
    );
    const refused = await rig.run('chat', 'append', 'c', '--role', 'user', '--text', 'x');
    expect(refused).toMatchObject({ code: 1 });
    expect(refused.err).toContain('archived');
    expect(await out('unarchive', 'c')).toBe('c\n');
    expect(await out('archive', 'c')).toBe('c\n');
    expect(await parsed('retain', '--max-size', '0', '--remove')).toMatchObject({
      action: 'remove',
      chats: [{ id: 'c' }],
    });
    expect(await rig.run('chat', 'show', 'c')).toMatchObject({ code: 1 });
  });

  it('exports, imports, follows and removes', async () => {
    expect(await out('export', 'c')).toContain('# a talk');
    const json = await out('export', 'c', '--format', 'json');
    expect(await rig.feed(json, 'chat', 'import', '-', '--id', 'd')).toMatchObject({
      code: 0,
      out: 'd\n',
    });
    expect(await rig.feed('{}', 'chat', 'import', '-', '--id', 'e')).toMatchObject({ code: 2 });
    expect(await out('follow', 'd', '-n', '1')).toMatch(/^1 {2}.* {2}message_added {2}\{/);
    expect(await out('follow', 'd', '-n', '0')).toBe('');
    expect(await out('problems', 'd')).toBe('');
    expect(await out('rm', 'd')).toBe('');
    expect(await rig.run('chat', 'rm', 'd')).toMatchObject({ code: 1 });
  });

  it('says what a question is, and gives no hint about payloads of turns', async () => {
    const { code, err } = await rig.run('chat', 'ask', 'c', '--questions', '[{"id":"q"}]');
    expect({ code, lines: err.split('\n').length }).toEqual({ code: 2, lines: 2 });
    expect(err).toContain('the kind single, multiple, yes_no or text');
  });

  it.each([
    [['append', 'c', '--role', 'user']],
    [['append', 'c', '--role', 'user', '--text', 'a', '--stdin']],
    [['append', 'c', '--text', 'a']],
    [['ask', 'c', '--questions', '{']],
    [['ask', 'c', '--questions', '{}']],
    [['answer', 'c', 'b', '--answers', '[]']],
    [['export', 'c', '--format', 'pdf']],
    [['retain']],
    [['new', '--id', 'a-b']],
    [['redact', 'c', 'm1']],
    [['show', 'c', '-n', 'many']],
  ])('refuses %j with 2', async (argv) => {
    expect(await rig.run('chat', ...argv)).toMatchObject({ code: 2, out: '' });
    expect(await parsed('show', 'c')).toMatchObject({ events: 1 });
  });
});
