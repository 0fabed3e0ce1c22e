import { mkdir, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { claudeCode } from '../../src/import/sources/claude-code.ts';
import { codex } from '../../src/import/sources/codex.ts';
import { omp, pi } from '../../src/import/sources/pi.ts';
import { compress } from '../../src/base/compress.ts';
import { contextsOf, createScene, showAll, toLines } from './rig.ts';

const FILE = 'projects/-w/s1.jsonl';
const prompt = (uuid: string, parentUuid: string | null, text: string): object => ({
  type: 'user',
  uuid,
  parentUuid,
  timestamp: `2026-01-01T00:00:00.${uuid.slice(-3).padStart(3, '0')}Z`,
  message: { role: 'user', content: text },
});
const turnsOf = (shown: readonly Record<string, unknown>[]): unknown[] =>
  shown.map(({ turns }) => turns);

describe('what is handled, and counted', () => {
  it('an empty file, and one with records of no session', async () => {
    const scene = await createScene();
    await scene.write(FILE, '');
    await scene.write('projects/-w/s2.jsonl', [{ type: 'progress', uuid: 'p1', parentUuid: null }]);
    expect(await scene.run(claudeCode)).toMatchObject({ files: 2, turns: 0, sessions: 0, bad: 0 });
    expect(await contextsOf(scene.store, claudeCode)).toEqual([]);
    expect(await scene.run(claudeCode)).toMatchObject({ unchanged: 2 });
  });

  it('a byte order mark, CR before LF, blank lines, U+2028 and a tail that is not complete', async () => {
    const scene = await createScene();
    const lines = [prompt('u1', null, 'one'), prompt('u2', 'u1', 'two\u2028three')].map((r) =>
      JSON.stringify(r),
    );
    const path = await scene.write(FILE, `\ufeff${lines.join('\r\n\r\n')}\r\n{"type":"user","uu`);
    expect(await scene.run(claudeCode)).toMatchObject({ turns: 2, tails: 1, bad: 0 });
    await writeFile(
      path,
      `\ufeff${lines.join('\r\n\r\n')}\r\n${JSON.stringify(prompt('u3', 'u2', 'end'))}\n`,
    );
    expect(await scene.run(claudeCode)).toMatchObject({ turns: 1, tails: 0 });
    expect(turnsOf(await showAll(scene.store, claudeCode))).toEqual([
      ['user: one', 'user: two\u2028three', 'user: end'],
    ]);
  });

  it('glued objects, a run of NULs, a bad line, and bytes that are not UTF-8', async () => {
    const scene = await createScene();
    const [a, b, c, d] = ['1', '2', '3', '4'].map((n) =>
      JSON.stringify(prompt(`u${n}`, n === '1' ? null : `u${Number(n) - 1}`, n)),
    );
    const bad = Buffer.concat([
      Buffer.from(`${a}${b}\n${'\0'.repeat(5000)}\nno json at all\n${c}\n`),
      Buffer.from(d!.replace('"4"', '"4?"')).map((byte) => (byte === 0x3f ? 0xff : byte)),
      Buffer.from('\n'),
    ]);
    const path = await scene.write(FILE, '');
    await writeFile(path, bad);
    expect(await scene.run(claudeCode)).toMatchObject({
      turns: 4,
      bad: 2,
      replaced: 1,
      recovered: 2,
    });
    expect(turnsOf(await showAll(scene.store, claudeCode))).toEqual([
      ['user: 1', 'user: 2', 'user: 3', 'user: 4\ufffd'],
    ]);
  });

  it('a line that is too long to be read, which is kept as a blob', async () => {
    const scene = await createScene();
    const path = await scene.write(FILE, [prompt('u1', null, 'one')]);
    const long = 40 * 1024 * 1024;
    await truncate(path, long);
    await writeFile(path, `\n${JSON.stringify(prompt('u2', 'u1', 'two'))}\n`, { flag: 'a' });
    expect(await scene.run(claudeCode)).toMatchObject({ turns: 2, long: 1 });
  });

  it('a circle of parents, and a parent that is not there', async () => {
    const scene = await createScene();
    await scene.write(FILE, [
      prompt('u1', 'u2', 'one'),
      prompt('u2', 'u1', 'two'),
      prompt('u3', 'gone', 'three'),
    ]);
    expect(await scene.run(claudeCode)).toMatchObject({ turns: 3, unlinked: 2 });
  });

  it('a child before its parent', async () => {
    const scene = await createScene();
    await scene.write(FILE, [prompt('u2', 'u1', 'two'), prompt('u1', null, 'one')]);
    expect(await scene.run(claudeCode)).toMatchObject({ turns: 2, unlinked: 0, forks: 0 });
    expect(turnsOf(await showAll(scene.store, claudeCode))).toEqual([['user: one', 'user: two']]);
  });

  it('two files with one id, times in the future, and nesting without end', async () => {
    const scene = await createScene();
    const later = { ...prompt('u2', 'u1', 'two'), timestamp: '2999-01-01T00:00:00Z' };
    await scene.write(FILE, [prompt('u1', null, 'one')]);
    await scene.write('projects/-moved/s1.jsonl', [prompt('u1', null, 'one'), later]);
    await scene.write(
      'projects/-w/s3.jsonl',
      `${'['.repeat(5000)}${']'.repeat(5000)}\n${'{"a":'.repeat(2000)}1${'}'.repeat(2000)}\n`,
    );
    expect(await scene.run(claudeCode)).toMatchObject({ turns: 2, future: 1, bad: 2 });
    expect(turnsOf(await showAll(scene.store, claudeCode))).toEqual([['user: one', 'user: two']]);
  });

  it('links out of the tree, and paths that a record names', async () => {
    const scene = await createScene();
    const secret = join(scene.home, '..', 'secret.txt');
    await writeFile(secret, 'SECRET');
    await mkdir(join(scene.home, 'projects/-w/s1/tool-results'), { recursive: true });
    await symlink(secret, join(scene.home, 'projects/-w/linked.jsonl'));
    await symlink(join(scene.home, '..'), join(scene.home, 'projects/up'));
    const result = (id: string, path: string): object => ({
      ...prompt(id, null, ''),
      message: {
        content: [
          { type: 'tool_result', tool_use_id: id, content: `<persisted-output>saved to ${path}` },
        ],
      },
    });
    await symlink(secret, join(scene.home, 'projects/-w/s1/tool-results/link.txt'));
    await writeFile(join(scene.home, 'projects/-w/s1/tool-results/full.txt'), 'FULL OUTPUT');
    await scene.write(FILE, [
      result('t1', '../../../secret.txt'),
      result('t2', '/x/link.txt'),
      result('t3', '/elsewhere/tool-results/full.txt'),
    ]);
    expect(await scene.run(claudeCode)).toMatchObject({ files: 1, blobs: 1, failed: [] });
    const { id } = (await contextsOf(scene.store, claudeCode))[0]!;
    const { turns } = await scene.store.contexts.last(id, 9);
    expect(JSON.stringify(turns)).not.toContain('SECRET');
  });

  it('a place that is not there, and packed files', async () => {
    const scene = await createScene();
    expect(await scene.run(claudeCode, { place: join(scene.home, 'nothing') })).toMatchObject({
      files: 0,
    });
    const header = { type: 'session', version: 3, id: 's1', cwd: '/w' };
    const entry = {
      type: 'message',
      id: '1',
      parentId: null,
      message: { role: 'user', content: 'packed' },
    };
    const archived = await scene.write('archive/sessions/2026_s1.jsonl.gz', '');
    await writeFile(archived, gzipSync(toLines([header, entry])));
    await scene.run(omp);
    expect(turnsOf(await showAll(scene.store, omp))).toEqual([['user: packed']]);
    const thread = '11111111-1111-4111-8111-111111111111';
    const cold = await scene.write(`sessions/rollout-2026-01-01T00-00-00-${thread}.jsonl.zst`, '');
    const item = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'cold' }] };
    await writeFile(
      cold,
      compress(Buffer.from(toLines([{ type: 'response_item', payload: item }]))),
    );
    await scene.run(codex);
    expect(turnsOf(await showAll(scene.store, codex))).toEqual([['user: cold']]);
    await writeFile(cold, 'no zstd');
    expect((await scene.run(codex)).failed).toHaveLength(1);
  });

  it('pictures once, wherever they are; text that looks like a reference stays text', async () => {
    const scene = await createScene();
    const data = Buffer.alloc(2000, 1).toString('base64');
    const picture = { type: 'image', source: { type: 'base64', media_type: 'image/png', data } };
    const show = (uuid: string, parent: string | null): object => ({
      ...prompt(uuid, parent, ''),
      message: { content: [picture, { type: 'text', text: `blob:sha256:${'0'.repeat(64)}` }] },
    });
    await scene.write(FILE, [
      show('u1', null),
      show('u2', 'u1'),
      show('u3', 'u2'),
      show('u4', 'u1'),
    ]);
    const { blobs, blobsShared } = await scene.run(claudeCode);
    expect(blobs - blobsShared).toBeLessThanOrEqual(1 + blobs / 2);
    const { id } = (await contextsOf(scene.store, claudeCode))[0]!;
    const { turns } = await scene.store.contexts.last(id, 1);
    expect(JSON.stringify(turns[0])).toContain(
      `"blobs":[["/records/0/message/content/0/source/data","base64"]]`,
    );
  });
});

describe('a session that is written anew', () => {
  it('loses nothing, and an entry that was changed is a branch', async () => {
    const scene = await createScene();
    const file = '--w--/2026-01-01T00-00-00-000Z_s1.jsonl';
    const header = { type: 'session', version: 3, id: 's1', cwd: '/w' };
    const entry = (id: string, parentId: string | null, text: string): object => ({
      type: 'message',
      id,
      parentId,
      message: { role: 'user', content: text },
    });
    await scene.write(file, [
      header,
      entry('1', null, 'a'),
      entry('2', '1', 'b'),
      entry('3', '2', 'c'),
    ]);
    await scene.run(pi);
    await scene.write(file, [
      header,
      entry('3', '2', 'c'),
      entry('1', null, 'a'),
      entry('4', '3', 'd'),
    ]);
    expect(await scene.run(pi)).toMatchObject({ turns: 1, unlinked: 0 });
    expect(turnsOf(await showAll(scene.store, pi))).toEqual([
      ['user: a', 'user: b', 'user: c', 'user: d'],
    ]);
  });
});
