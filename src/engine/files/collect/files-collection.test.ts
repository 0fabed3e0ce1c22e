import { describe, expect, it } from 'vitest';
import type { ContextId, Hash, TurnId } from '../../../base/brand.ts';
import { hashBytes } from '../../../base/hash.ts';
import { MemoryIo } from '../../../testing/disk/memory-io.ts';
import { MapShelf } from '../../../testing/map-shelf.ts';
import type { Engine } from '../../engine.ts';
import { openFilesEngine } from '../open-files-engine.ts';

function open(io: MemoryIo): Promise<Engine> {
  const shelves = {
    open: () => new MapShelf(),
    create: () => new MapShelf(),
    install: (fresh: MapShelf) => fresh,
  };
  return openFilesEngine('/store', { io, shelves: shelves as never, checkpointMs: Infinity });
}

async function append(engine: Engine, context: ContextId, text: string): Promise<TurnId> {
  const bytes = Buffer.from(text);
  const hash = hashBytes(bytes);
  const turn = { context, type: 't', version: 1, encoding: 3, payload: hash, size: bytes.length };
  const { turns } = await engine.commit({ blobs: [{ hash, bytes }], turns: [turn] });
  return turns[0]!.id;
}

async function newContext(engine: Engine): Promise<ContextId> {
  return (await engine.commit({ contexts: [{ do: 'create' }] })).contexts[0]!.id;
}

const hashOf = (text: string): Hash => hashBytes(Buffer.from(text));
const silent = { blob: () => undefined, turn: () => undefined };

/** Keeps exactly the blobs of these texts, and no turn but the ones given. */
function keeping(texts: readonly string[], turns: readonly TurnId[]) {
  const live = new Set(texts.map(hashOf));
  return {
    isLive: (hash: Hash) => live.has(hash),
    isLiveTurn: (turn: TurnId) => turns.includes(turn),
    deadShare: 0,
    live,
  };
}

describe('a collection', () => {
  it('takes what is dead, keeps what is alive, also after a restart', async () => {
    const io = new MemoryIo();
    const engine = await open(io);
    const context = await newContext(engine);
    const kept = await append(engine, context, 'kept '.repeat(50));
    const gone = await append(engine, context, 'gone '.repeat(50));
    const collection = await engine.upkeep.startCollection({ graceMs: 0, reliance: silent });
    const report = await collection.sweep(keeping(['kept '.repeat(50)], [kept]));
    await collection.end();
    expect(report).toMatchObject({ removedBlobs: 1, keptDeadBytes: 0, skippedForSpace: 0 });
    for (const store of [engine, await engine.close().then(() => open(io.copy()))]) {
      if (store === engine) continue;
      expect(await store.getBlob(hashOf('gone '.repeat(50)))).toBeUndefined();
      expect(Buffer.from((await store.getBlob(hashOf('kept '.repeat(50))))!).toString()).toBe(
        'kept '.repeat(50),
      );
      expect(await store.getTurn(gone)).toBeUndefined();
      expect(await store.getTurn(kept)).toMatchObject({ id: kept });
      await expect(
        store.commit({ contexts: [{ do: 'create', base: gone }] }),
      ).rejects.toMatchObject({ code: 'NOT_FOUND' });
      expect((await store.stats()).damage).toEqual([]);
    }
  });

  it('keeps a dead blob that a commit comes to rely on before its pack goes', async () => {
    const io = new MemoryIo();
    const engine = await open(io);
    const context = await newContext(engine);
    await append(engine, context, 'shared '.repeat(30));
    const plan = keeping([], []);
    const reliance = { ...silent, blob: (hash: Hash) => void plan.live.add(hash) };
    const collection = await engine.upkeep.startCollection({ graceMs: 0, reliance });
    const other = await newContext(engine);
    const again = append(engine, other, 'shared '.repeat(30));
    await collection.sweep(plan);
    await again;
    await collection.end();
    expect(await engine.getBlob(hashOf('shared '.repeat(30)))).toBeDefined();
    await engine.close();
  });

  it('keeps what is younger than the grace period', async () => {
    const engine = await open(new MemoryIo());
    const context = await newContext(engine);
    await append(engine, context, 'young '.repeat(30));
    const collection = await engine.upkeep.startCollection({ graceMs: 60_000, reliance: silent });
    expect(await collection.sweep(keeping([], []))).toMatchObject({ removedBlobs: 0 });
    await collection.end();
    expect(await engine.getBlob(hashOf('young '.repeat(30)))).toBeDefined();
    await engine.close();
  });

  it('runs alone', async () => {
    const engine = await open(new MemoryIo());
    const first = await engine.upkeep.startCollection({ graceMs: 0, reliance: silent });
    await expect(
      engine.upkeep.startCollection({ graceMs: 0, reliance: silent }),
    ).rejects.toMatchObject({ code: 'LOCKED' });
    await first.end();
    await (await engine.upkeep.startCollection({ graceMs: 0, reliance: silent })).end();
    await engine.close();
  });
});

describe('erasing', () => {
  it('leaves the bytes in no file', async () => {
    const io = new MemoryIo();
    const engine = await open(io);
    const context = await newContext(engine);
    const secret = 'sk-1234567890abcdef'.slice(0, 19);
    await append(engine, context, 'before');
    await append(engine, context, secret);
    await append(engine, context, 'after 1');
    await append(engine, context, 'after 2');
    const found = (disk: MemoryIo): string[] =>
      disk
        .paths()
        .filter((path) => Buffer.from(disk.contentOf(path)?.toBytes() ?? []).includes(secret));
    expect(found(io).length).toBeGreaterThan(0);
    await engine.upkeep.eraseBlob(hashOf(secret));
    expect(found(io)).toEqual([]);
    expect(await engine.getBlob(hashOf(secret))).toBeUndefined();
    await append(engine, context, 'life goes on');
    for (const text of ['before', 'after 1', 'after 2', 'life goes on']) {
      expect(Buffer.from((await engine.getBlob(hashOf(text)))!).toString()).toBe(text);
    }
    await engine.close();
    const again = await open(io.copy());
    expect(await again.getBlob(hashOf(secret))).toBeUndefined();
    expect((await again.stats()).damage).toEqual([]);
    await again.close();
  });
});
