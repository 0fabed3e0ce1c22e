import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { openFilesEngine } from '../../src/engine/files/open-files-engine.ts';
import { readOwnerNote } from '../../src/engine/files/disk/owner-note.ts';
import { openStore } from '../../src/open-store.ts';
import type { OpenOptions } from '../../src/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { newFolder } from './host-rig.ts';
import { PATIENCE } from '../../src/testing/patience.ts';

// What one folder does to those who open it at the same time. Two openings in one process are as far apart
// as two processes: they meet on the socket.

let folder: string;
beforeEach(() => {
  folder = newFolder();
  return () => vi.unstubAllEnvs();
});

async function open(options: OpenOptions = {}, at = folder): Promise<Store> {
  const store = await openStore(at, options);
  onTestFinished(() => store.close());
  return store;
}

const note = (payload: unknown) => ({ type: 'note', payload });

/** Whether both are one store. */
async function areShared(first: Store, second: Store): Promise<boolean> {
  const { id } = await first.contexts.create();
  await second.contexts.append(id, note('from the second'));
  return (await first.contexts.last(id, 9)).turns[0]?.payload === 'from the second';
}

describe('the socket', () => {
  it('is for the user alone, and goes with its owner', async () => {
    const store = await open();
    const path = join(folder, 'quipu.sock');
    expect(statSync(path).isSocket()).toBe(true);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    await store.close();
    expect(readdirSync(folder)).not.toContain('quipu.sock');
    expect(readdirSync(folder)).not.toContain('owner.json');
  });

  it.each(['a socket', 'a file', 'a link to nowhere'])(
    'replaces %s that a killed owner left',
    async (what) => {
      await (await open()).close();
      const path = join(folder, 'quipu.sock');
      if (what === 'a file') writeFileSync(path, '');
      else if (what === 'a socket') await leaveSocket(path);
      else symlinkSync('nowhere', path);
      writeFileSync(join(folder, 'owner.json'), '{"pid":1,"host":"gone","shares":true}');
      expect(await areShared(await open(), await open())).toBe(true);
    },
  );

  it('has a short path elsewhere when the folder has a long one', async () => {
    vi.stubEnv('XDG_RUNTIME_DIR', join(folder, '..'));
    const long = join(folder, 'x'.repeat(120));
    const store = await open({}, long);
    const path = readOwnerNote(long)?.socket ?? '';
    expect(path).toMatch(/\/quipu\/[0-9a-f]{24}\.sock$/);
    expect(statSync(join(path, '..')).mode & 0o777).toBe(0o700);
    // Who comes later may have another environment.
    vi.stubEnv('XDG_RUNTIME_DIR', '/nowhere');
    expect(await areShared(store, await open({}, long))).toBe(true);
    await store.close();
    expect(existsSync(path)).toBe(false);
  });

  it('is not had where others could take its place; then the store is had alone', async () => {
    const runtime = join(folder, '..', 'quipu');
    mkdirSync(runtime);
    chmodSync(runtime, 0o777);
    vi.stubEnv('XDG_RUNTIME_DIR', join(folder, '..'));
    const long = join(folder, 'x'.repeat(120));
    const store = await open({}, long);
    expect(readOwnerNote(long)).toMatchObject({ shares: false });
    await expect(open({}, long)).rejects.toMatchObject({ code: 'LOCKED' });
    await store.close();
    await (await open({}, long)).close();
  });
});

/** As a process that was killed leaves it: there, and nobody behind it. */
async function leaveSocket(path: string): Promise<void> {
  const server = createServer();
  const elsewhere = `${path}.moved`;
  await new Promise<void>((resolve) => server.listen(path, resolve));
  renameSync(path, elsewhere);
  await new Promise((resolve) => server.close(resolve));
  renameSync(elsewhere, path);
}

describe('options', () => {
  it('of whoever owns the folder count, and `safe` is never given less', async () => {
    const owner = await open({ durability: 'unsafe' });
    await expect(open()).rejects.toMatchObject({
      code: 'LOCKED',
      message: expect.stringContaining('opened it as unsafe') as string,
      data: { what: 'store', owner: expect.stringContaining(`process ${process.pid} `) as string },
    });
    const other = await open({ durability: 'unsafe' });
    expect((await other.maintain.stats()).durability).toBe('unsafe');
    await owner.close();
    await other.close();

    const safe = await open();
    const asking = await open({ durability: 'unsafe' });
    expect((await asking.maintain.stats()).durability).toBe('safe');
    await safe.close();
  });

  it('`create: false` makes nothing, and nothing is made of a folder that vanished', async () => {
    await expect(open({ create: false })).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(existsSync(folder)).toBe(false);
    const owner = await open();
    const other = await open({ create: false });
    await owner.close();
    rmSync(folder, { recursive: true });
    await expect(other.contexts.list()).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(existsSync(folder)).toBe(false);
  });

  it('`share: false` has the folder alone, and others are told at once', async () => {
    await (await open()).close();
    const alone = await open({ share: false });
    expect(existsSync(join(folder, 'quipu.sock'))).toBe(false);
    const begun = performance.now();
    const refused = { code: 'LOCKED', data: { what: 'store' } };
    await expect(open()).rejects.toMatchObject(refused);
    await expect(open({ share: false })).rejects.toMatchObject(refused);
    expect(performance.now() - begun).toBeLessThan(9000);
    const waiting = open({ waitMs: 10_000 });
    await alone.close();
    expect(await areShared(await waiting, await open())).toBe(true);
  });

  it('`maxPayloadBytes` is for this opening alone', async () => {
    const owner = await open({ maxPayloadBytes: 10 });
    const other = await open();
    const { id } = await other.contexts.create();
    await other.contexts.append(id, note('x'.repeat(100)));
    const long = owner.contexts.append(id, note('x'.repeat(100)));
    await expect(long).rejects.toMatchObject({ code: 'TOO_LARGE' });
  });
});

describe('an owner', () => {
  it('that answers nobody is named when time is up', async () => {
    const engine = await openFilesEngine(folder, { shares: true });
    const silent = createServer().listen(join(folder, 'quipu.sock'));
    onTestFinished(async () => {
      silent.close();
      await engine.close();
    });
    await expect(open({ waitMs: 50 })).rejects.toMatchObject({
      code: 'LOCKED',
      message: expect.stringMatching(/in use by process \d+ on .*did not answer/) as string,
    });
  });

  it('that has only just begun is waited for', async () => {
    const engine = await openFilesEngine(folder, { shares: true });
    const opening = open();
    setTimeout(() => void engine.close(), 200);
    expect(await areShared(await opening, await open())).toBe(true);
  });

  it('is one, however many begin at once, also in a folder that is not there yet', async () => {
    const stores = await Promise.all(Array.from({ length: 8 }, () => open()));
    const { id } = await stores[0]!.contexts.create();
    await Promise.all(stores.map((store, n) => store.contexts.append(id, note(n))));
    expect((await stores[7]!.contexts.last(id, 99)).turns).toHaveLength(8);
  });

  it('that closes fails nothing that is on its way to it', async () => {
    for (let round = 0; round < 5; round += 1) {
      const owner = await open();
      const other = await open();
      const created = Array.from({ length: 50 }, () => other.contexts.create());
      await created[round * 10];
      const more = Array.from({ length: 50 }, () => other.contexts.create());
      const closing = owner.close();
      const ids = await Promise.all([...created, ...more].map(async (one) => (await one).id));
      await closing;
      expect(new Set(ids).size).toBe(100);
      expect((await other.maintain.stats()).contexts).toBe(100 * (round + 1));
      await other.close();
    }
  });

  it('that closes is missed by nobody who watches', async () => {
    const owner = await open();
    const other = await open();
    const { id } = await owner.contexts.create();
    const seen: bigint[] = [];
    let isLive = false;
    const watching = (async () => {
      for await (const event of other.watch({ kinds: ['turn.appended'] })) {
        isLive = true;
        if (event.kind === 'turn.appended') seen.push(event.turn.id);
        if (seen.length === 40) return;
      }
    })();
    await expect.poll(() => isLive, PATIENCE).toBe(true);
    const sent: bigint[] = [];
    for (let n = 0; n < 40; n += 1) {
      if (n === 20) void owner.close();
      sent.push((await other.contexts.append(id, note(n))).id);
    }
    await watching;
    expect(seen).toEqual(sent);
  });

  it('whose folder may not be written to is none', async () => {
    await (await open()).close();
    chmodSync(folder, 0o555);
    chmodSync(join(folder, 'lock.db'), 0o444);
    const isRoot = process.getuid?.() === 0;
    try {
      if (isRoot) process.seteuid?.(65_534);
      await expect(openStore(folder)).rejects.toMatchObject({ code: 'READ_ONLY' });
    } finally {
      if (isRoot) process.seteuid?.(0);
      chmodSync(folder, 0o755);
    }
  });
});
