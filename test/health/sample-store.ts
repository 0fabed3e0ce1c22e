import { toContextId, toTurnId } from '../../src/base/brand.ts';
import { isQuipuError } from '../../src/base/errors.ts';
import { hashBytes, sha256Hex } from '../../src/base/hash.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { openFilesEngine } from '../../src/engine/files/open-files-engine.ts';
import type { Io } from '../../src/engine/io.ts';
import { encodeBlobRecord, encodePackEnd } from '../../src/format/blob-record.ts';
import { encodeFileHeader, FILE_MAGIC } from '../../src/format/file-header.ts';
import { MemoryIo } from '../../src/testing/disk/memory-io.ts';
import {
  append,
  appendAll,
  appendLines,
  createContext,
  openTurn,
  patchTurn,
  putDoc,
  writeDelta,
} from '../../src/testing/engine-suite/fixture.ts';
import { MapShelf } from '../../src/testing/map-shelf.ts';
import { textOf } from '../crash/read-text.ts';

export const ROOT = '/data/store';
/** The pack that is closed; the others still take records. */
export const CLOSED_PACK = 2;
export const BULK_PACK = 3;
export const STREAMED = 'streamed text, and more of it';
const IN_CLOSED_PACK = new TextEncoder().encode('kept in a pack that is closed');
const SMALL = new TextEncoder().encode('a small blob with a SHA-256');
const ERASED = new TextEncoder().encode('to be forgotten');

export interface Sample {
  readonly disk: MemoryIo;
  readonly engine: Engine;
  /** The index in use; building it anew makes another one. */
  readonly shelf: () => MapShelf;
}

/** A store with every kind of record in it, open, with a turn being streamed. */
export async function buildSample(): Promise<Sample> {
  const disk = new MemoryIo();
  const { engine, shelf } = await openSample(disk);
  await fillTurns(engine);
  await engine.putBlob({ chunks: once(SMALL), sha256: true });
  await fillLargeBlobs(engine, disk);
  await engine.putBlob({ chunks: once(ERASED) });
  await engine.upkeep.eraseBlob(hashBytes(ERASED));
  await putDoc(engine, 'settings.json', '{"a":1}');
  await putDoc(engine, 'settings.json', '{"a":2}');
  await putDoc(engine, 'gone.json', 'null');
  await putDoc(engine, 'gone.json', undefined);
  await engine.commit({
    docs: [{ name: 'out/state.json', content: '{"on":true}', publish: true }],
  });
  for (const n of [1, 2, 3]) await appendLines(engine, 'logs/events', `{"n":${n}}`, `{"n":"${n}"}`);
  await appendLines(engine, 'logs/short', '"only"');
  await engine.checkpoint();
  // After the checkpoint, so that the journal still holds them.
  const open = await openTurn(engine, toContextId(5));
  await writeDelta(engine, open.id, 0, STREAMED.slice(0, 8));
  await writeDelta(engine, open.id, 8, STREAMED.slice(8));
  return { disk, engine, shelf };
}

export async function openSample(disk: Io): Promise<Omit<Sample, 'disk'>> {
  let shelf = new MapShelf();
  const engine = await openFilesEngine(ROOT, {
    io: disk,
    clock: () => 1_700_000_000_000,
    shelves: {
      open: () => shelf,
      create: () => (shelf = new MapShelf()),
      install: (fresh) => fresh,
    },
    checkpointMs: Infinity,
    segmentBytes: 256 * 1024,
  });
  return { engine, shelf: () => shelf };
}

async function fillTurns(engine: Engine): Promise<void> {
  const texts = (from: number, count: number): string[] =>
    Array.from({ length: count }, (_, n) => `turn ${from + n}, ${'with some words '.repeat(8)}`);
  await createContext(engine, { meta: { title: 'first', labels: ['a'], kind: 'chat' } });
  await appendAll(engine, toContextId(1), texts(1, 20));
  await createContext(engine, { base: toTurnId(10) });
  await appendAll(engine, toContextId(2), texts(21, 4));
  await createContext(engine);
  await append(engine, toContextId(3), 'of a context that goes');
  await engine.commit({ contexts: [{ do: 'remove', context: toContextId(3) }] });
  await createContext(engine, { base: toTurnId(5) });
  await createContext(engine);
  const keyed = { context: toContextId(5), key: 'once' };
  const payload = hashBytes(new TextEncoder().encode('keyed'));
  await engine.commit({
    idempotency: keyed,
    blobs: [{ hash: payload, bytes: new TextEncoder().encode('keyed') }],
    turns: [
      { context: keyed.context, type: 'test.key', version: 2, encoding: 3, payload, size: 5 },
    ],
  });
  await patchTurn(engine, toTurnId(3), 'better words');
  await patchTurn(engine, toTurnId(4), 'withdrawn', { tombstone: true });
}

/**
 * A put that fails leaves a pack that no frame names, while another put gets the next number. Its file is
 * then made a closed pack: no test wants to write the 256 MiB that a pack takes to close by itself.
 */
async function fillLargeBlobs(engine: Engine, disk: MemoryIo): Promise<void> {
  const failing = engine
    .putBlob({
      chunks: failAfter(large(1), () => engine.putBlob({ chunks: once(large(2)), sha256: true })),
    })
    .catch((error: unknown) => error);
  await failing;
  const bytes = Buffer.concat([packHeader(), recordOf(IN_CLOSED_PACK)]);
  const end = encodePackEnd({ count: 1, length: bytes.length });
  const file = await disk.open(`${ROOT}/blobs/pack-00000${CLOSED_PACK}.pack`, 'write');
  await file.truncate(0);
  await file.write(Buffer.concat([bytes, end]), 0);
  await file.sync();
  await file.close();
  await engine.reindex();
}

function packHeader(): Uint8Array {
  return encodeFileHeader(
    { magic: FILE_MAGIC.pack, recordBytes: 0, kind: 0, number: CLOSED_PACK },
    32,
  );
}

function recordOf(stored: Uint8Array): Uint8Array {
  return encodeBlobRecord({ codec: 0, rawLength: stored.length, hash: hashBytes(stored), stored });
}

/** Does not compress, so that its chunks lie in the pack as they are. */
function large(seed: number): Uint8Array {
  const bytes = new Uint8Array(400_000);
  let state = seed;
  for (let at = 0; at < bytes.length; at += 1) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    bytes[at] = state >>> 24;
  }
  return bytes;
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

async function* failAfter(
  bytes: Uint8Array,
  work: () => Promise<unknown>,
): AsyncGenerator<Uint8Array> {
  yield bytes;
  await work();
  throw new Error('the source fails');
}

/** Every kind of read, each answered by a text. A read that says CORRUPT has no answer. */
export async function readEverything(engine: Engine): Promise<Map<string, string>> {
  const answers = new Map<string, string>();
  const ask = async (name: string, read: () => Promise<unknown>): Promise<void> => {
    try {
      answers.set(name, textOf(await read()));
    } catch (error) {
      if (!isQuipuError(error)) throw error;
      if (error.code !== 'CORRUPT') answers.set(name, error.code);
    }
  };
  for (let n = 1; n <= 28; n += 1) {
    const id = toTurnId(n);
    await ask(`turn ${n}`, () => engine.getTurn(id));
    await ask(`walk ${n}`, () => engine.walkBack(id, 100));
    await ask(`ancestor ${n}`, () => engine.ancestorAt(id, 1));
    await ask(`patches ${n}`, () => engine.getPatches([id]));
    await ask(`payload ${n}`, async () => {
      const payload = (await engine.getTurn(id))?.payload;
      return payload === undefined ? undefined : engine.getBlob(payload);
    });
    await ask(`open ${n}`, () => engine.getOpenTurn(id));
  }
  for (let n = 1; n <= 6; n += 1) {
    await ask(`context ${n}`, () => engine.getContext(toContextId(n)));
  }
  for (const bytes of [IN_CLOSED_PACK, SMALL, ERASED, large(1), large(2)]) {
    await ask(`blob ${hashBytes(bytes)}`, () => engine.getBlob(hashBytes(bytes)));
    await ask(`sha256 ${hashBytes(bytes)}`, () => engine.findBySha256(sha256Hex(bytes)));
  }
  for (const name of ['settings.json', 'gone.json', 'out/state.json']) {
    await ask(name, () => engine.getDoc(name));
  }
  for (const name of ['logs/events', 'logs/short', 'logs/none']) {
    await ask(name, () => engine.getLog(name));
    await ask(`lines of ${name}`, () => engine.readLog(name, 0, 100));
  }
  return answers;
}
