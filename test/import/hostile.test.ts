import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { Database } from '../../src/base/sqlite.ts';
import { findHistories } from '../../src/import/import-history.ts';
import { EXPORT_FORMATS, exportHistory } from '../../src/import/out/export-history.ts';
import { unpack } from '../../src/import/read/read-records.ts';
import { SOURCES } from '../../src/import/sources/all-sources.ts';
import { chatGpt, jsonl } from '../../src/import/sources/named-files.ts';
import { claudeCode } from '../../src/import/sources/claude-code.ts';
import { codex } from '../../src/import/sources/codex.ts';
import { opencode } from '../../src/import/sources/opencode.ts';
import { pi } from '../../src/import/sources/pi.ts';
import { contextsOf, createScene, showAll, toLines } from './rig.ts';

const message = (id: string, parentId: string | null, content = 'x'): object => ({
  id,
  parentId,
  role: 'user',
  content,
});

describe('a file that was made to break an import', () => {
  it('has thousands of records, each before its parent', async () => {
    const scene = await createScene();
    const count = 9000;
    const records = Array.from({ length: count }, (_, at) => {
      const number = count - at;
      return message(`m${number}`, number === 1 ? null : `m${number - 1}`, `${number}`);
    });
    await scene.write('a.jsonl', records);
    expect(await scene.run(jsonl)).toMatchObject({ turns: count, forks: 0, unlinked: 0 });
    const [context] = await contextsOf(scene.store, jsonl);
    expect(context?.headDepth).toBe(count - 1);
  });

  it('has thousands of records without a parent', async () => {
    const scene = await createScene();
    const records = Array.from({ length: 10_500 }, (_, at) => message(`m${at}`, `gone${at}`));
    await scene.write('a.jsonl', records);
    expect(await scene.run(jsonl, { dryRun: true })).toMatchObject({
      sessions: 1,
      turns: 10_500,
      unlinked: 10_500,
    });
  });

  it('has more records on one line than anybody writes, and a long run of NULs', async () => {
    const scene = await createScene();
    const nulls = '\0'.repeat(12 * 1024 * 1024);
    await scene.write(
      'a.jsonl',
      `${'{}'.repeat(50_000)}\n${nulls}\n${toLines([message('a', null)])}`,
    );
    expect(await scene.run(jsonl)).toMatchObject({ turns: 1001, bad: 2, failed: [] });
  });

  it('has names of sessions that no key can hold', async () => {
    const scene = await createScene();
    const chat = (id: string, role = 'user'): object => ({
      conversation_id: id,
      title: 't',
      current_node: 'toString',
      mapping: {
        n: { id: 'n', parent: null, message: { author: { role }, content: { parts: ['hi'] } } },
      },
    });
    const ids = ['x'.repeat(5000), `${'x'.repeat(5000)}y`, 'a\0b', '\ud800', '', '__proto__'];
    const chats = [...ids.map((id) => chat(id)), chat('1', 'constructor'), chat('2', '__proto__')];
    await scene.write('conversations.json', JSON.stringify(chats));
    expect(await scene.run(chatGpt)).toMatchObject({ turns: 8, failed: [] });
    const said = (await showAll(scene.store, chatGpt)).map(({ turns }) => turns);
    expect(said).toEqual([
      ...ids.map(() => ['user: hi']),
      ['system (meta): hi'],
      ['system (meta): hi'],
    ]);
    expect(await scene.run(chatGpt)).toMatchObject({ turns: 0, unchanged: 1 });
  });

  it('has details that are longer than what a context can hold', async () => {
    const scene = await createScene();
    const long = '\u0001é'.repeat(50_000);
    const about = { cwd: long, gitBranch: long, version: long, parentUuid: null };
    const said = { message: { role: 'assistant', model: long, content: 'x', usage: {} } };
    await scene.write('projects/-w/s1.jsonl', [
      { type: 'assistant', uuid: 'u', ...about, ...said },
    ]);
    const agent = { toolUseId: long, description: long, agentType: long };
    await scene.write('projects/-w/s2/subagents/agent-a.meta.json', JSON.stringify(agent));
    await scene.write('projects/-w/s2/subagents/agent-a.jsonl', [
      { type: 'user', uuid: 'u2', isSidechain: true, sessionId: 's2', ...about, ...said },
    ]);
    expect(await scene.run(claudeCode)).toMatchObject({ turns: 2, failed: [] });
  });

  it('has types and roles with the names of what every object has', async () => {
    const scene = await createScene();
    for (const name of ['constructor', '__proto__', 'toString']) {
      const message = { role: name, content: 'x' };
      const entry = { type: name, id: `i${name}`, uuid: `u${name}`, parentId: null, message };
      await scene.write(`projects/-w/${name}.jsonl`, [entry]);
      await scene.write(`rollout-2026-01-01T00-00-00-${name}.jsonl`, [
        { type: 'event_msg', payload: { type: name } },
        { type: 'response_item', payload: { type: 'message', role: name, content: [] } },
        { type: 'compacted', payload: { replacement_history: [{ type: name }] } },
      ]);
    }
    for (const source of [claudeCode, codex, pi, jsonl]) {
      expect(await scene.run(source)).toMatchObject({ failed: [] });
    }
  });

  it('is refused by the store, and keeps no other file out', async () => {
    const scene = await createScene();
    const part = (id: string): object => ({
      type: 'assistant',
      uuid: id,
      parentUuid: null,
      message: { id: 'one', role: 'assistant', content: Array.from({ length: 600_000 }, () => 1) },
    });
    await scene.write('projects/-w/a.jsonl', [part('a1'), part('a2')]);
    await scene.write('projects/-w/b.jsonl', [
      { type: 'user', uuid: 'u1', parentUuid: null, message: { role: 'user', content: 'here' } },
    ]);
    const report = await scene.run(claudeCode);
    expect(report.failed).toMatchObject([{ path: join(scene.home, 'projects/-w/a.jsonl') }]);
    const said = (await showAll(scene.store, claudeCode)).flatMap(({ turns }) => turns);
    expect(said).toContainEqual('user: here');
    // What was not imported is tried again, and what was is not.
    expect(await scene.run(claudeCode)).toMatchObject({ unchanged: 1, failed: [{}] });
  });

  it('unpacks to more than a disk has', async () => {
    const scene = await createScene();
    const path = await scene.write('bomb.jsonl.gz', '');
    await writeFile(path, gzipSync(Buffer.alloc(3 * 1024 * 1024)));
    await expect(unpack({ path, packed: 'gzip' }, 1024 * 1024)).rejects.toThrow('unpacks to more');
    await using unpacked = await unpack({ path, packed: 'gzip' }, 3 * 1024 * 1024);
    expect(unpacked.path).not.toBe(path);
  });
});

describe('a database that is not as opencode makes it', () => {
  const create = (path: string, fill: (database: Database) => void): void => {
    const database = new Database(path);
    database.exec(`
      CREATE TABLE session (id, parent_id, title, directory, version, revert, time_created, time_updated);
      CREATE TABLE message (id, session_id, data, time_created);
      CREATE TABLE part (id, message_id, session_id, data);
    `);
    fill(database);
    database.close();
  };
  const info = JSON.stringify({ role: 'user', time: { created: 1 } });
  const add = (database: Database, id: unknown, data: unknown, about: unknown = info): void => {
    const name = String(id);
    const rows = [
      ['session', id, null, 't', '/w', '1', null, 1, 1],
      ['message', `m${name}`, id, about, 1],
      ['part', `p${name}`, `m${name}`, id, data],
    ] as const;
    for (const [table, ...values] of rows) {
      const marks = values.map(() => '?').join();
      database.prepare(`INSERT INTO ${table} VALUES (${marks})`).run(...values);
    }
  };
  const fine = JSON.stringify({ type: 'text', text: 'fine' });
  const nest = (levels: number): string =>
    `{"type":"text","text":"deep","x":${'['.repeat(levels)}${']'.repeat(levels)}}`;

  it('has JSON without end, no JSON, and ids that are no texts', async () => {
    const scene = await createScene();
    create(join(scene.home, 'opencode.db'), (database) => {
      add(database, 's1', nest(100_000));
      add(database, 's2', nest(950));
      add(database, 's3', Buffer.from('bytes'), Buffer.from('bytes'));
      add(database, 's4', 'no JSON', null);
      for (const id of [5, Buffer.from('x'), null]) add(database, id, fine);
      add(database, 's5', fine);
    });
    expect(await scene.run(opencode)).toMatchObject({ turns: 5, failed: [] });
    const contexts = await contextsOf(scene.store, opencode);
    const pages = await Promise.all(contexts.map(({ id }) => scene.store.contexts.last(id, 9)));
    const turns = pages.flatMap((page) => page.turns);
    expect(turns.filter(({ undecodable }) => undecodable)).toEqual([]);
    // Nothing is lost of what could not be read.
    expect(JSON.stringify(turns)).toContain('[[[[[[[[');
    expect(JSON.stringify(turns)).toContain('no JSON');
  });

  it('has a view that never ends in the place of a table', async () => {
    const scene = await createScene();
    const database = new Database(join(scene.home, 'opencode.db'));
    database.exec(`CREATE VIEW session AS
      WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x AS id FROM c`);
    database.close();
    expect(await scene.run(opencode)).toMatchObject({ files: 0 });
  });

  it('is no file, and hides no other history', async () => {
    const scene = await createScene();
    const folder = join(scene.home, '.local/share/opencode');
    await mkdir(join(folder, 'opencode.db'), { recursive: true });
    await writeFile(join(folder, 'opencode-dev.db'), 'no database');
    await symlink('/dev/zero', join(folder, 'opencode-zero.db'));
    await scene.write('.copilot/session-state/s1.jsonl', [{ type: 'x', data: {} }]);
    const found = await findHistories(SOURCES, { env: {}, home: scene.home });
    expect(found.map(({ source }) => source.name)).toEqual(['copilot']);
  });

  it('has folders that are links out of the tree', async () => {
    const scene = await createScene();
    const outside = join(scene.home, '..', 'outside');
    await mkdir(outside);
    await writeFile(join(outside, 'p1.json'), JSON.stringify({ type: 'text', text: 'SECRET' }));
    await scene.write('storage/session/x/s1.json', JSON.stringify({ id: 's1' }));
    await scene.write('storage/message/s1/m1.json', JSON.stringify({ role: 'user' }));
    await mkdir(join(scene.home, 'storage/part'));
    await symlink(outside, join(scene.home, 'storage/part/m1'));
    expect(await scene.run(opencode)).toMatchObject({ turns: 1 });
    expect(JSON.stringify(await showAll(scene.store, opencode))).not.toContain('SECRET');
  });
});

describe('a turn that somebody wrote as if it was imported', () => {
  it('is exported as far as it can be', async () => {
    const { store } = await createScene();
    const { id } = await store.contexts.create();
    const blob = await store.blobs.put(Buffer.from(`${'['.repeat(5000)}`), { sha256: true });
    const reference = `blob:sha256:${blob.sha256}`;
    const type = 'import.jsonl.message';
    const head = { at: 1e300, role: 'user', flags: 'meta', summary: { a: 1 }, kind: 5, model: [] };
    const records = [{ content: 'said', deep: reference, again: reference }];
    const blobs = [
      ['/records/0/deep', 'json'],
      ['/records/0/again', 'text'],
      ['/records/0/__proto__/x', 'text'],
    ];
    await store.contexts.append(id, { type, payload: { ...head, blobs, records } });
    await store.contexts.append(id, {
      type,
      encoding: 'msgpack',
      payload: { role: {}, records: [{ content: 'large', number: 2n ** 63n }] },
    });
    await store.contexts.append(id, { type: 'x', encoding: 'msgpack', payload: { n: 2n ** 63n } });
    for (const format of EXPORT_FORMATS) {
      let text = '';
      for await (const piece of exportHistory(store, id, format, SOURCES)) text += piece;
      for (const word of ['said', '9223372036854775808']) expect(text).toContain(word);
    }
    expect(({} as Record<string, unknown>)['x']).toBeUndefined();
  });
});
