import { CliRig } from '../../../test/cli/rig.ts';
import { appendFileSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { PATIENCE } from '../../testing/patience.ts';

const IMAGE = { type: 'image', mimeType: 'image/png', data: Buffer.alloc(900).toString('base64') };
const ENTRY = { type: 'message', id: 'e1', message: { role: 'user', content: [IMAGE] } };

async function begin(rig: CliRig): Promise<string> {
  const { out, code } = await rig.run('session', 'create', '--title', 'T');
  expect(code).toBe(0);
  const id = out.trim();
  const two = `${JSON.stringify(ENTRY)}\n\n{"type":"note","id":"e2"}\n`;
  expect(await rig.feed(two, 'session', 'append', id)).toEqual({
    code: 0,
    out: 'e1\ne2\n',
    err: '',
  });
  return id;
}

it('begins a session, appends, and prints it again', async () => {
  using rig = new CliRig({ onDisk: true });
  const id = await begin(rig);
  const one = await rig.run('session', 'append', id, '--entry', '{"type":"x","id":"e3"}', '--json');
  expect(JSON.parse(one.out)).toEqual({ id: 'e3', parentId: 'e2' });
  const all = (await rig.run('session', 'cat', id)).out.trim().split('\n');
  expect(JSON.parse(all[0]!)).toMatchObject(ENTRY);
  expect(all).toHaveLength(3);
  expect((await rig.run('session', 'cat', id, '-n', '1')).out).toContain('"e3"');
  expect(await rig.run('session', 'cat', id, '-n', '0', '--branch')).toMatchObject({
    code: 0,
    out: '',
  });
  expect((await rig.run('session', 'cat', id, '--branch', 'e1', '--raw')).out).toContain(
    'blob:sha256:',
  );
  const list = await rig.run('session', 'list');
  expect(list.out).toMatch(new RegExp(`^SESSION .*\\n${id}  2023-11-14T22:13:20.000Z `));
  const { out } = await rig.run('session', 'show', id, '--json');
  expect(JSON.parse(out)).toMatchObject({ id, available: true, blobs: 1, header: { title: 'T' } });
  expect((await rig.run('session', 'show', id)).out).toContain('blobs          1\n');
});

it('forks, moves, exports, imports and removes', async () => {
  using rig = new CliRig({ onDisk: true });
  const id = await begin(rig);
  const fork = (await rig.run('session', 'fork', id, '--at', 'e1')).out.trim();
  expect((await rig.run('session', 'cat', fork)).out.trim().split('\n')).toHaveLength(1);
  const moved = await rig.run('session', 'move', id, 'there', '--cwd', 'other');
  expect(moved.out).toMatch(/there\/.*\.jsonl\n$/);
  expect((await rig.run('session', 'cat', moved.out.trim())).code).toBe(0);
  expect((await rig.run('session', 'export', id, 'out', '--json')).out).toContain('"blobs":1');
  expect(await rig.run('session', 'export', id, 'out')).toMatchObject({ code: 2 });
  expect((await rig.run('session', 'rm', id)).code).toBe(0);
  expect(existsSync(moved.out.trim())).toBe(false);
  expect(await rig.run('session', 'cat', id)).toMatchObject({ code: 1, out: '' });
  expect((await rig.run('session', 'import', 'out')).out.trim()).toBe(id);
  expect((await rig.run('session', 'cat', id)).out).toContain(IMAGE.data);
  const gc = await rig.run('session', 'gc', '--max-size', '0', '--dry-run');
  expect(gc.out).toMatch(/2 sessions, .*; 2 would go, 0 missing, 0 forgotten, 0 drafts\n$/);
});

it('prints artifacts, whole and in parts', async () => {
  using rig = new CliRig({ onDisk: true });
  const id = await begin(rig);
  {
    await using store = await rig.open();
    const session = await store.sessions.open(id);
    await session.saveArtifact('l1\nl2\nl3', 'bash');
    await session.artifacts.saveAgentOutput('0-Plan', '{"a":1}');
  }
  expect((await rig.run('session', 'artifact', id)).out).toBe('artifact://0\nagent://0-Plan\n');
  expect((await rig.run('session', 'artifact', id, '0')).out).toBe('l1\nl2\nl3');
  const part = await rig.run('session', 'artifact', id, '0', '--offset', '2', '--limit', '1');
  expect(part.out).toBe('l2\n\n[1 more lines in resource. Use offset=3 to continue]');
  const asked = await rig.run('session', 'artifact', id, 'agent://0-Plan/a');
  expect(asked).toEqual({ code: 0, out: '1', err: 'Extracted: .a\n' });
  expect(await rig.run('session', 'artifact', id, '7')).toMatchObject({ code: 1 });
  expect(await rig.run('session', 'artifact', id, 'x://y')).toMatchObject({ code: 2 });
});

it('gives a file without a header a new one', async () => {
  using rig = new CliRig({ onDisk: true });
  await rig.run('init');
  const name = '2026-11-15T10-20-30-456Z_lost.jsonl';
  writeFileSync(join(rig.cwd, name), '{"type":"x","id":"a","parentId":null}\n');
  expect(await rig.run('session', 'cat', name)).toMatchObject({ code: 1 });
  expect((await rig.run('session', 'recover', name)).out).toBe('lost\n');
  expect((await rig.run('session', 'cat', name)).out).toContain('"a"');
  expect(await rig.feed('{', 'session', 'append', name)).toMatchObject({ code: 2 });
});

it('says on standard error which pictures are missing, and moves to the folder of another project', async () => {
  using rig = new CliRig({ onDisk: true });
  const id = await begin(rig);
  const lost = 'f'.repeat(64);
  const entry = JSON.stringify({ type: 'x', image_url: `blob:sha256:${lost}` });
  expect(await rig.run('session', 'append', id, '--entry', entry)).toMatchObject({ code: 0 });
  const { code, err } = await rig.run('session', 'cat', id);
  expect({ code, err }).toEqual({
    code: 0,
    err: `Blob not found for persisted image data URL: ${lost}\n`,
  });
  const moved = await rig.run('session', 'move', id, '--cwd', '/elsewhere');
  expect(moved.out).toContain('/sessions/--elsewhere--/');
  expect(await rig.run('session', 'move', id)).toMatchObject({ code: 2 });
});

describe('quipu session follow', () => {
  /** Follows a session, and hands over what it prints line by line. */
  function follow(rig: CliRig, ...argv: string[]) {
    const lines: string[] = [];
    rig.accept = (data) => lines.push(...String(data).trim().split('\n'));
    const ended = rig.run('session', 'follow', ...argv);
    const ids = (): unknown[] => lines.map((line) => (JSON.parse(line) as { id: string }).id);
    return { ended, ids };
  }

  it('prints what is there and what comes, whoever writes it', async () => {
    using rig = new CliRig({ onDisk: true });
    const id = await begin(rig);
    const { file } = JSON.parse((await rig.run('session', 'show', id, '--json')).out) as {
      file: string;
    };
    const { ended, ids } = follow(rig, id, '-n', '204');
    await vi.waitFor(() => expect(ids()).toEqual(['e1', 'e2']), PATIENCE);
    const lineOf = (entry: string): string =>
      `${JSON.stringify({ type: 'x', id: entry, parentId: null, timestamp: 't' })}\n`;
    // Another program writes half a line first, and then more lines than are looked at in one step.
    const line = lineOf('e3');
    appendFileSync(file, line.slice(0, 20));
    appendFileSync(file, line.slice(20));
    await vi.waitFor(() => expect(ids()).toEqual(['e1', 'e2', 'e3']), PATIENCE);
    const many = Array.from({ length: 200 }, (_, n) => `m${n}`);
    appendFileSync(file, many.map(lineOf).join(''));
    await using store = await rig.open();
    await vi.waitFor(() => expect(ids()).toHaveLength(203), PATIENCE);
    await using session = await store.sessions.open(id);
    await session.append({ type: 'x', id: 'last' });
    await session.flush();
    expect((await ended).code).toBe(0);
    expect(ids()).toEqual(['e1', 'e2', 'e3', ...many, 'last']);
  });

  it('ends with Ctrl-C, and after nothing at all', async () => {
    using rig = new CliRig({ onDisk: true });
    const id = await begin(rig);
    expect(await rig.run('session', 'follow', id, '-n', '0')).toMatchObject({ code: 0, out: '' });
    const { ended, ids } = follow(rig, id);
    await vi.waitFor(() => expect(ids()).toHaveLength(2), PATIENCE);
    rig.interrupt.abort();
    expect(await ended).toMatchObject({ code: 0, err: '' });
    expect((await rig.run('session', 'follow', 'none')).code).toBe(1);
  });
});
