import * as fs from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openStore } from '../../src/open-store.ts';
import { restoreStore } from '../../src/restore-store.ts';
import { useSessionRig } from './rig.ts';

const rig = useSessionRig();

describe('sessions in a backup', () => {
  it('come back with files, artifacts and pictures, wherever they were', async () => {
    const { store, folder } = await rig();
    const [backup, restored] = [join(folder, 'backup'), join(folder, 'restored')];
    const inside = await store.sessions.create({ cwd: '/project' });
    const outside = await store.sessions.create({ folder: join(folder, 'far') });
    const gone = await store.sessions.create({ cwd: '/project' });
    const picture = { type: 'image', mimeType: 'image/png', data: 'A'.repeat(2000) };
    for (const session of [inside, outside]) {
      await session.append({ type: 'message', content: [picture] });
      await session.saveArtifact(`of ${session.id}`, 'bash');
    }
    const agentId = await inside.artifacts.allocateAgent('Child');
    const child = await store.sessions.create({ parent: inside, agentId });
    await child.append({ type: 'message', text: 'of a child' });
    expect((await store.maintain.stats()).lastBackup).toBeUndefined();
    const first = await store.maintain.backup(backup);
    expect((await store.maintain.stats()).lastBackup?.at).toBeGreaterThan(1.7e12);
    await store.sessions.remove(gone.id);
    await outside.append({ type: 'message', text: 'more' });
    const second = await store.maintain.backup(backup);
    expect(second.copiedBytes).toBeLessThan(first.copiedBytes);

    const wanted = await Promise.all([inside, outside, child].map((one) => one.load()));
    for (const path of [inside.file!, outside.file!]) fs.rmSync(path);
    await restoreStore(backup, restored);
    await using again = await openStore(restored);
    expect((await again.maintain.stats()).lastBackup).toBeUndefined();
    expect((await again.sessions.list()).items).toHaveLength(3);
    for (const [at, { id }] of [inside, outside, child].entries()) {
      await using session = await again.sessions.open(id);
      expect(await session.load()).toEqual(wanted[at]);
      expect(session.file?.startsWith(join(restored, 'sessions/'))).toBe(true);
    }
    const { content } = await again.sessions.resolve('artifact://0', { session: outside.id });
    expect(content).toBe(`of ${outside.id}`);
    expect(await again.maintain.verify()).toMatchObject({ ok: true, problems: [] });
  });

  it('are brought up to date among the artifacts, also those that the store does not know', async () => {
    const { store, folder } = await rig();
    const backup = join(folder, 'backup');
    const session = await store.sessions.create({ cwd: '/project' });
    await session.saveArtifact('an artifact', 'bash');
    const place = join(session.file!.replace(/\.jsonl$/, ''), 'agent.jsonl');
    fs.writeFileSync(place, '{"n":1}\n');
    await store.maintain.backup(backup);
    fs.appendFileSync(place, '{"n":2}\n');
    await store.maintain.backup(backup);
    const found = fs.readdirSync(backup, { recursive: true, encoding: 'utf8' });
    const [copy] = found.filter((name) => name.endsWith('/agent.jsonl'));
    expect(fs.readFileSync(join(backup, copy!), 'utf8')).toBe('{"n":1}\n{"n":2}\n');
  });

  it('say so when the list of them is damaged', async () => {
    const { store, folder } = await rig();
    await store.sessions.create({ cwd: '/project' });
    const backup = join(folder, 'backup');
    await store.maintain.backup(backup);
    fs.writeFileSync(join(backup, 'sessions/backup.json'), '{"a":5}\n');
    await expect(store.maintain.backup(backup)).rejects.toMatchObject({ code: 'CORRUPT' });
  });

  it('are not copied over a good copy when they are damaged', async () => {
    const { store, folder } = await rig();
    const backup = join(folder, 'backup');
    const session = await store.sessions.create({ cwd: '/project' });
    const other = await store.sessions.create({ cwd: '/project' });
    await session.append({ type: 'message', text: 'as it was' });
    await store.maintain.backup(backup);
    const text = fs.readFileSync(session.file!, 'utf8');
    fs.writeFileSync(session.file!, text.replace('as it was', 'as it is!'));
    await other.append({ type: 'message', text: 'new' });
    await expect(store.maintain.backup(backup)).rejects.toMatchObject({ code: 'CORRUPT' });
    await restoreStore(backup, join(folder, 'restored'));
    await using again = await openStore(join(folder, 'restored'));
    await using kept = await again.sessions.open(session.id);
    expect((await kept.load()).entries).toMatchObject([{ text: 'as it was' }]);
    await using grown = await again.sessions.open(other.id);
    expect((await grown.load()).entries).toMatchObject([{ text: 'new' }]);
    // A change that was meant is taken when its checksums are removed.
    fs.rmSync(join(session.file!, '../.sums'), { recursive: true });
    await store.maintain.backup(backup);
  });
});
