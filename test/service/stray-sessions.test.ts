import {
  appendFileSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { serveForAttack } from './attack-rig.ts';
import type { AttackRig } from './attack-rig.ts';

// A record of a session that is in the store, however it came there, and names a file outside of it: nobody may read, write or
// remove that file by it, neither a client nor the owner.

/** Records that an older version, or a copy of another store, may have in it: each leads out of the folder. */
function strayRecords({ folder, outside }: AttackRig): Record<string, object> {
  const real = join(outside, 'real.jsonl');
  writeFileSync(real, '{"type":"session","version":3,"id":"real","timestamp":"","cwd":"/"}\n');
  const kept = join(folder, 'sessions', 'kept');
  mkdirSync(kept);
  writeFileSync(join(kept, 'notes.jsonl'), '{"type":"session","version":3,"id":"undone"}\n');
  symlinkSync(outside, join(folder, 'sessions', 'link'));
  symlinkSync(real, join(folder, 'sessions', 'linked.jsonl'));
  writeFileSync(
    join(folder, 'sessions', 'artifacts.jsonl'),
    '{"type":"session","id":"artifacts"}\n',
  );
  symlinkSync(join(outside, 'notes'), join(folder, 'sessions', 'artifacts'));
  return {
    stray: { file: join(outside, 'notes.jsonl') },
    real: { file: real },
    missing: { file: join(outside, 'gone', 'notes.jsonl') },
    climbing: { file: join(folder, 'sessions', '..', '..', 'outside', 'notes.jsonl') },
    link: { file: join(folder, 'sessions', 'link', 'notes.jsonl') },
    linked: { file: join(folder, 'sessions', 'linked.jsonl') },
    artifacts: { file: join(folder, 'sessions', 'artifacts.jsonl') },
    moving: { file: join(folder, 'sessions', 'no.jsonl'), movingTo: join(outside, 'notes.jsonl') },
    moved: { file: join(outside, 'notes.jsonl'), movingTo: join(folder, 'sessions', 'x.jsonl') },
    undone: { file: join(kept, 'notes.jsonl'), movingTo: join(outside, 'notes.jsonl') },
    near: { file: join(folder, 'sessions', 'notes.jsonl'), movingTo: join(outside, 'notes.jsonl') },
  };
}

/** Everything that a client can ask of a session. */
const REQUESTS: readonly (readonly [method: string, path: string, body?: unknown])[] = [
  ['GET', ''],
  ['GET', '/entries'],
  ['GET', '/resource?url=agent://0-Plan'],
  ['GET', '/resource?url=artifact://0'],
  ['POST', '/entries', { type: 'message' }],
  ['POST', '/artifacts', { text: 'x' }],
  ['POST', '/fork', {}],
  ['DELETE', ''],
];

function treeOf(path: string): string[] {
  const names = readdirSync(path, { recursive: true, withFileTypes: true });
  return names
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((file) => `${file} ${readFileSync(file, 'utf8')}`)
    .toSorted();
}

/** What a client got, or changed, of files outside of the store. */
async function tryStrays(rig: AttackRig): Promise<string[]> {
  const { served, outside } = rig;
  await (await served.store.sessions.create()).close();
  const strays = Object.entries(strayRecords(rig));
  const before = treeOf(outside);
  const harm: string[] = [];
  for (const [method, path, body] of REQUESTS) {
    for (const [id, record] of strays) {
      const content = JSON.stringify({ id, ...record });
      await served.engine.commit({ docs: [{ name: `session/${id}`, content }] });
      const answer = await rig.fetch(method, `/v1/sessions/${id}${path}`, body);
      const text = await answer.text();
      const what = `${method} ${path} of ${id}`;
      if (answer.ok || text.includes('SECRET')) harm.push(`${what}: ${answer.status}`);
      if (treeOf(outside).join() !== before.join()) return [...harm, `${what} changed files`];
    }
  }
  return harm;
}

describe('a session record that leads out of the store', () => {
  it('gives a client nothing to read, to write or to remove', async () => {
    const rig = await serveForAttack();
    expect(await tryStrays(rig)).toEqual([]);
    const { items } = (await (await rig.fetch('GET', '/v1/sessions')).json()) as {
      items: { id: string; available: boolean }[];
    };
    expect(items.filter(({ available }) => available)).toHaveLength(1);
    const { sessions } = rig.served.store;
    await expect(sessions.open(join(rig.outside, 'real.jsonl'))).rejects.toThrow('id of a session');
  });

  it('would, on a server that did not confine them', async () => {
    expect(await tryStrays(await serveForAttack({ confined: false }))).not.toEqual([]);
  });

  it('is not followed by a collection or a check, which say so', async () => {
    const rig = await serveForAttack({ confined: false });
    const { engine, store } = rig.served;
    await (await store.sessions.create()).close();
    const { sha256, hash } = await store.blobs.put(Buffer.from('a picture'), { sha256: true });
    const named = `blob:sha256:${sha256}`;
    // Of a record that leads to a session of this very id, nobody can tell that it is not meant.
    const { real: _, ...strays } = strayRecords(rig);
    for (const name of ['notes.jsonl', 'notes/0-Plan.md']) {
      appendFileSync(join(rig.outside, name), `\n{"image":"${named}"}\n`);
    }
    const ids = new Set(Object.keys(strays));
    for (const [id, record] of Object.entries(strays)) {
      const content = JSON.stringify({ id, ...record });
      await engine.commit({ docs: [{ name: `session/${id}`, content }] });
    }
    const report = await store.maintain.gc({ graceMs: 0, all: true });
    const unread = report.unread.map((what) => /session (\w+)/.exec(what)?.[1]);
    expect(new Set(unread)).toEqual(ids);
    expect(await engine.hasBlob(hash)).toBe(true);
    for (const name of await engine.listDocs('', 1000)) {
      expect((await engine.getDoc(name))?.content).not.toContain(sha256);
    }
    const { ok, problems } = await store.maintain.verify();
    expect(ok).toBe(false);
    expect(new Set(problems.map(({ id }) => id))).toEqual(ids);
    expect(JSON.stringify(problems)).not.toContain('SECRET');
  });

  it('costs its owner nothing, and can be forgotten', async () => {
    const rig = await serveForAttack({ confined: false });
    const { engine, store } = rig.served;
    await (await store.sessions.create()).close();
    const strays = Object.entries(strayRecords(rig));
    for (const [id, record] of strays) {
      const content = JSON.stringify({ id, ...record });
      await engine.commit({ docs: [{ name: `session/${id}`, content }] });
    }
    const before = treeOf(rig.outside).filter((file) => !file.includes('real.jsonl'));
    const backup = join(rig.folder, '..', 'backup');
    await store.maintain.backup(backup);
    expect(treeOf(backup).join()).not.toContain('SECRET');
    for (const [id] of strays) {
      const found = await store.sessions.resolve('agent://0-Plan', { session: id }).catch(String);
      expect(JSON.stringify(found)).not.toContain('SECRET');
      await store.sessions.remove(id).catch(() => undefined);
    }
    await store.sessions.tidy({ maxBytes: 0, drafts: true, forgetMissing: true });
    expect(treeOf(rig.outside)).toEqual(before);
    expect((await store.sessions.list()).items).toEqual([]);
  });
});
