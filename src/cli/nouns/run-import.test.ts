import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CliRig } from '../../../test/cli/rig.ts';

/** Writes a file below the current folder of a rig. */
function write(rig: CliRig, name: string, text: string): void {
  mkdirSync(dirname(join(rig.cwd, name)), { recursive: true });
  writeFileSync(join(rig.cwd, name), text);
}

const said = (content: string): string => `${JSON.stringify({ role: 'user', content })}\n`;

describe('quipu import', () => {
  it('says where it looked, and how to name another place', async () => {
    using rig = new CliRig();
    const nowhere = await rig.run('import');
    expect(nowhere).toMatchObject({ code: 1, out: '' });
    expect(nowhere.err).toContain(join(rig.cwd, 'home/.claude'));
    expect(nowhere.err).toContain('quipu import --from <agent> <path>');
    expect((await rig.run('import', '--from', 'chatgpt')).err).toBe(
      'quipu: found no sessions: chatgpt has no fixed place; ' +
        'name a file or folder: quipu import --from chatgpt <path>\n',
    );
    expect((await rig.run('import', '--from', 'codex', 'old')).err).toBe(
      'quipu: found no sessions of codex at old\n',
    );
    const unnamed = await rig.run('import', 'old');
    expect(unnamed.code).toBe(2);
    expect(unnamed.err).toMatch(
      /^quipu: --from is missing; say whose history old is: claude-code,/,
    );
  });

  it('refuses an archive, and says so when a file has no message of the agent', async () => {
    using rig = new CliRig();
    write(rig, 'export.zip', 'PK\u0003\u0004conversations.json');
    const zip = await rig.run('import', '--from', 'chatgpt', 'export.zip');
    expect(zip).toMatchObject({ code: 2, err: 'quipu: place is a zip archive; unpack it first\n' });
    write(rig, 'conversations.json', '[{"uuid":"u1","chat_messages":[{"text":"hi"}]}]');
    const other = await rig.run('import', '--from', 'chatgpt', 'conversations.json');
    expect(other.code).toBe(0);
    expect(other.err).toContain('found no new message of ChatGPT export there');
    const right = await rig.run('import', '--from', 'claude-ai', 'conversations.json');
    expect(right.err).not.toContain('found no new message');
  });

  it('keeps files of one name apart', async () => {
    using rig = new CliRig();
    write(rig, 'a/log.jsonl', said('from a'));
    write(rig, 'b/log.jsonl', said('from b'));
    await rig.run('import', '--from', 'jsonl', 'a/log.jsonl');
    await rig.run('import', '--from', 'jsonl', 'b/log.jsonl');
    const titles = async (): Promise<unknown[]> => {
      const { out } = await rig.run('context', 'list', '--kind', 'import.jsonl', '--json');
      const contexts = out.trim().split('\n');
      return contexts.map((line) => (JSON.parse(line) as { title: string }).title).toSorted();
    };
    expect(await titles()).toEqual(['from a', 'from b']);
    const again = await rig.run('import', '--from', 'jsonl', '.', '--json');
    expect(JSON.parse(again.out)).toMatchObject({ files: 2, unchanged: 2 });
  });

  it('exports no folder and no model that nobody named', async () => {
    using rig = new CliRig();
    write(rig, 'log.jsonl', said('hi'));
    await rig.run('import', '--from', 'jsonl', 'log.jsonl');
    const { out } = await rig.run('export', '2');
    expect(out).toContain('- from: `JSON Lines`\n');
    expect(out).not.toMatch(/^- (?:folder|model):/m);
    const { out: json } = await rig.run('export', '2', '--json');
    expect(json).toBe((await rig.run('export', '2', '--as', 'jsonl')).out);
    expect(JSON.parse(json)).toEqual({ role: 'user', content: 'hi' });
  });

  it('takes a date or an age for --since', async () => {
    using rig = new CliRig();
    const { code, err } = await rig.run('import', '--since', 'banana');
    expect(code).toBe(2);
    expect(err).toContain('Expected a date such as 2026-11-18');
  });
});
