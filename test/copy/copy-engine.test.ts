import { describe, expect, it } from 'vitest';
import { toContextId, toHash } from '../../src/base/brand.ts';
import type { Batch, BlobPut } from '../../src/engine/batch.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { copyBlobs } from '../../src/maintain/copy/copy-blobs.ts';
import { copyEngine } from '../../src/maintain/copy/copy-engine.ts';
import { exploreCrashes } from '../../src/testing/disk/explore-crashes.ts';
import { MemoryIo } from '../../src/testing/disk/memory-io.ts';
import {
  append,
  appendLines,
  createContext,
  failure,
  openTurn,
  putDoc,
} from '../../src/testing/engine-suite/fixture.ts';
import { ModelEngine } from '../../src/testing/model-engine.ts';
import { lyingIo } from '../crash/lying-io.ts';
import { openStore } from '../crash/open-store.ts';
import { withChanges } from '../../src/testing/with-changes.ts';
import { cutAfter, expectEqual, fillSource } from './copy-rig.ts';

const NOW = 1_700_000_000_000;

async function makeSource(): Promise<Engine> {
  const source = await openStore(new MemoryIo(), () => NOW, 1024 * 1024);
  await fillSource(source);
  return source;
}

function openTarget(disk: MemoryIo = new MemoryIo()): Promise<Engine> {
  return openStore(disk, () => NOW + 1000, 256 * 1024);
}

describe('a copy', () => {
  it('is equal to its source, from files to memory and back to files', async () => {
    const source = await makeSource();
    const model = new ModelEngine();
    const counts = await copyEngine(source, model);
    expect(counts).toMatchObject({ turns: 5, contexts: 4, patches: 5 });
    await expectEqual(source, model);
    const target = await openTarget();
    expect(await copyEngine(model, target)).toMatchObject(counts);
    await expectEqual(source, target);
    const nothing = { turns: 0, contexts: 0, patches: 0, blobs: 0, logLines: 0, docs: 0 };
    expect(await copyEngine(source, target)).toMatchObject(nothing);
  });

  it('has payloads in the order of their turns, as they were compressed', async () => {
    const source = await openStore(new MemoryIo(), () => NOW, 1024 * 1024);
    const { id: context } = await createContext(source);
    const texts = Array.from({ length: 300 }, (_, nth) => `said ${nth % 200} `.repeat(20));
    for (const text of texts) await append(source, context, text);
    const disk = new MemoryIo();
    const target = await openTarget(disk);
    const given: BlobPut[] = [];
    const seen = withChanges(target, {
      commit: (batch) => {
        given.push(...(batch.blobs ?? []));
        return target.commit(batch);
      },
    });
    expect(await copyEngine(source, seen)).toMatchObject({ turns: 300, blobs: 200 });
    expect(given.map(({ bytes }) => Buffer.from(bytes).toString())).toEqual(texts.slice(0, 200));
    expect(given.filter(({ zstd }) => zstd === undefined)).toEqual([]);
    await expectEqual(source, target);
    expect((await target.upkeep.check({ repair: false })).problems).toEqual([]);
  });

  it('has both of two blobs whose hashes begin alike', async () => {
    const source = new ModelEngine();
    const [payload, other] = ['1', '2'].map((end) => toHash(end.padStart(64, 'a')));
    const { id: context } = await createContext(source);
    const bytes = Buffer.from('said');
    await source.commit({
      blobs: [payload!, other!].map((hash) => ({ hash, bytes })),
      turns: [{ context, type: 't', version: 1, encoding: 0, payload: payload!, size: 4 }],
    });
    const target = new ModelEngine();
    const nothing = (): void => undefined;
    const pair = { from: source, to: target, progress: nothing, pause: nothing };
    expect(await copyBlobs(pair)).toMatchObject({ blobs: 2 });
    expect(await target.hasBlob(other!)).toBe(true);
  });

  it('goes on where it was cut off, also when the source has moved on since', async () => {
    const source = await makeSource();
    const target = new ModelEngine();
    for (let writes = 1; ; writes += 2) {
      const cut = await copyEngine(source, cutAfter(target, writes)).then(
        () => undefined,
        (error: unknown) => error,
      );
      if (cut === undefined) break;
      expect(cut).toMatchObject({ message: 'cut off' });
      await append(source, toContextId(2), `written meanwhile ${writes}`);
      await appendLines(source, 'logs/two', `${writes}`);
      await putDoc(source, 'plain/doc', `${writes}`);
      await source.commit({
        contexts: [{ do: 'describe', context: toContextId(3), meta: { title: `${writes}` } }],
      });
    }
    await copyEngine(source, target);
    await expectEqual(source, target);
  });

  it('ends between two steps when it is told to', async () => {
    const source = await makeSource();
    const target = new ModelEngine();
    const given = new AbortController();
    const signal = given.signal;
    const progress = (_: number, __: number, what: string): void => {
      if (what === 'turns') given.abort();
    };
    await expect(copyEngine(source, target, { signal, progress })).rejects.toThrow('abort');
    expect(await target.tips()).toMatchObject({ turn: 5n, patch: 0 });
    await copyEngine(source, target);
    await expectEqual(source, target);
  });

  it('refuses a target with anything else in it, and writes nothing to it', async () => {
    const source = await makeSource();
    const others: ((engine: Engine) => Promise<unknown>)[] = [
      (engine) => engine.commit({ blobs: [], docs: [{ name: 'mine', content: '1' }] }),
      (engine) => appendLines(engine, 'logs/mine', '1'),
      (engine) => appendLines(engine, 'logs/one', '"other"'),
      (engine) => createContext(engine),
      async (engine) => append(engine, (await createContext(engine)).id, 'mine'),
      (engine) => engine.putBlob({ chunks: inOne('mine') }),
    ];
    for (const fill of others) {
      const target = new ModelEngine({ clock: () => 7 });
      await fill(target);
      const before = structuredClone(await target.stats());
      await failure(copyEngine(source, target), 'INVALID');
      expect(await target.stats()).toEqual(before);
    }
  });

  it('refuses a source that is being written to, and one without its records', async () => {
    const source = await makeSource();
    const { id } = await openTurn(source, toContextId(2));
    const error = await failure(copyEngine(source, new ModelEngine()), 'LOCKED');
    expect(error.data).toMatchObject({ owner: String(id) });
    const missing = { ...source.capabilities, adoption: { missing: 'it is elsewhere' } };
    const remote = withChanges(source, { capabilities: missing });
    await failure(copyEngine(remote, new ModelEngine()), 'UNSUPPORTED');
  });
});

async function* inOne(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

/*
 * Invariant: wherever a power cut ends a copy, the target opens, the copy goes on there, and then it is equal to
 * its source; a copy that was said to be done is whole after a power cut.
 */
describe('a copy that a power cut ends', () => {
  interface Broken {
    readonly wrapDisk?: (disk: MemoryIo) => Parameters<typeof openStore>[0];
    readonly wrapTarget?: (target: Engine) => Engine;
  }

  async function cutPower(seed: number, broken: Broken = {}): Promise<number> {
    const { wrapDisk = (disk) => disk, wrapTarget = (target) => target } = broken;
    const source = await makeSource();
    const open = (disk: MemoryIo): Promise<Engine> =>
      openStore(wrapDisk(disk), () => NOW + 1000, 256 * 1024);
    const made = new MemoryIo();
    await (await openTarget(made)).close();
    const { states } = await exploreCrashes<'done'>({
      seed,
      statesPerPoint: broken.wrapDisk === undefined ? 2 : 1,
      start: made.copy(),
      run: async (disk, note) => {
        await copyEngine(source, await open(disk));
        note('done');
      },
      check: async (disk, facts, crash) => {
        const target = await open(disk);
        crash.recovered();
        if (facts.length === 0) await copyEngine(source, wrapTarget(target));
        await expectEqual(source, target);
      },
    });
    return states;
  }

  it('is finished by the next one', { timeout: 60_000 }, async () => {
    expect(await cutPower(1)).toBeGreaterThan(20);
  });

  it('would show a disk that says it has what it has not', { timeout: 60_000 }, async () => {
    await expect(
      cutPower(2, { wrapDisk: (disk) => lyingIo(disk, { sync: async () => undefined }) }),
    ).rejects.toThrow(/./);
  });

  it(
    'would show a copy that appends lines without looking what is there',
    { timeout: 60_000 },
    async () => {
      const blind = (target: Engine): Engine =>
        withChanges(target, {
          getLog: async () => undefined,
          commit: (batch) => target.commit(withoutLengths(batch)),
        });
      await expect(cutPower(3, { wrapTarget: blind })).rejects.toThrow('log ');
    },
  );
});

function withoutLengths(batch: Batch): Batch {
  const logs = (batch.logs ?? []).map((change) => {
    if (change.do === 'remove') return change;
    const { expectedLines: _, ...blind } = change;
    return blind;
  });
  return { ...batch, logs };
}
