import { toContextId, toTurnId } from '../../src/base/brand.ts';
import { isQuipuError } from '../../src/base/errors.ts';
import type { Batch, Committed } from '../../src/engine/batch.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { Encoding } from '../../src/format/turn-record.ts';
import { blobOf, turnOf } from '../../src/testing/engine-suite/fixture.ts';
import { LOOSE_BLOBS, textOf } from './read-text.ts';

// A store with one of everything, made the same way every time, and questions about all of it.

const FIRST = toContextId(1);
const KEYED = keyedBatch();
const STREAMED = blobOf('streamed to its end');
const PATCH = blobOf('as it should have been');
const REASON = blobOf('a secret');
const LARGE = LOOSE_BLOBS.at(-1);

function keyedBatch(): Batch {
  const [one, two] = [turnOf(FIRST, 'keyed, first'), turnOf(FIRST, 'keyed, second')];
  const idempotency = { context: FIRST, key: 'once' };
  return { idempotency, blobs: [one.blob, two.blob], turns: [one.turn, two.turn] };
}

/** Commits up to a checkpoint, and the ones after it. */
const EARLY: readonly Batch[] = [
  {
    contexts: [
      { do: 'create', meta: { title: 'one', kind: 'chat', labels: ['a'] } },
      { do: 'create' },
    ],
  },
  KEYED,
  append(2, 'in the second'),
  { logs: [{ do: 'append', name: 'logs/kept', lines: ['{"n":1}', '{"n":2}'] }] },
  { logs: [{ do: 'append', name: 'logs/made-again', lines: ['"old"', '"older"'] }] },
  { docs: [{ name: 'out/state.json', content: '{"v":1}', publish: true }] },
  { docs: [{ name: 'never-published/gone.json', content: '{}' }] },
  { opens: [openTurn(1)] },
];
const LATE: readonly Batch[] = [
  { deltas: [{ turn: toTurnId(4), offset: 0, bytes: STREAMED.bytes }] },
  {
    blobs: [STREAMED],
    seals: [{ turn: toTurnId(4), outcome: 'complete', ...payloadOf(STREAMED) }],
  },
  { contexts: [{ do: 'create', base: toTurnId(1) }] },
  append(3, 'on the fork'),
  { blobs: [PATCH], patches: [patchOf(1, false, PATCH)] },
  { blobs: [REASON], patches: [patchOf(3, true, REASON)] },
  { logs: [{ do: 'append', name: 'logs/kept', lines: ['{"n":3}'] }] },
  { logs: [{ do: 'remove', name: 'logs/made-again' }] },
  { logs: [{ do: 'append', name: 'logs/made-again', lines: ['"new"'] }] },
  { docs: [{ name: 'out/state.json', content: '{"v":2}', publish: true }] },
  { docs: [{ name: 'never-published/gone.json', content: undefined }] },
  { contexts: [{ do: 'describe', context: FIRST, meta: { title: 'renamed' } }] },
  { contexts: [{ do: 'remove', context: toContextId(2) }] },
];

export async function fillEarly(engine: Engine): Promise<void> {
  for (const batch of EARLY) await engine.commit(batch);
  for (const { bytes } of LOOSE_BLOBS) {
    await engine.putBlob({ chunks: once(bytes), sha256: true });
  }
}

/** Leaves a turn open when asked: a store that is killed then has one. */
export async function fillLate(engine: Engine, leaveOpen: boolean): Promise<void> {
  for (const batch of LATE) await engine.commit(batch);
  if (!leaveOpen) return;
  await engine.commit({ opens: [openTurn(3)] });
  for (const [index, text] of ['un', 'finished'].entries()) {
    const bytes = new TextEncoder().encode(text);
    await engine.commit({ deltas: [{ turn: toTurnId(6), offset: index * 2, bytes }] });
  }
  await engine.commit(append(1, 'the very last'));
}

/**
 * What the store answers to each question; an answer that it refuses with CORRUPT is undefined. The
 * last question is for the bytes of the large blob, and takes longer than all the others.
 */
export async function askEverything(
  engine: Engine,
  withLarge = true,
): Promise<(string | undefined)[]> {
  const answers: (string | undefined)[] = [];
  const ask = async (question: () => Promise<unknown>): Promise<void> => {
    try {
      answers.push(textOf(await question()));
    } catch (error) {
      if (!isQuipuError(error, 'CORRUPT')) throw error;
      answers.push(undefined);
    }
  };
  for (let id = 1; id <= 8; id += 1) {
    const turn = toTurnId(id);
    await ask(async () => engine.getTurn(turn));
    await ask(async () => engine.getOpenTurn(turn));
    await ask(async () => engine.getPatches([turn]));
    if (id <= 5) await ask(async () => engine.walkBack(turn, 10));
  }
  for (let id = 1; id <= 4; id += 1) {
    await ask(async () => engine.getHead(toContextId(id)));
    await ask(async () => engine.getContext(toContextId(id)));
  }
  await ask(async () => engine.listContexts({ limit: 10 }));
  await ask(async () => engine.listContexts({ limit: 10, label: 'a' }));
  for (const name of ['logs/kept', 'logs/made-again', 'logs/never']) {
    await ask(async () => engine.getLog(name));
    await ask(async () => engine.readLog(name, 0, 10));
  }
  await ask(async () => engine.listLogs('', 10));
  for (const name of ['out/state.json', 'never-published/gone.json'])
    await ask(async () => engine.getDoc(name));
  await ask(async () => engine.listDocs('', 10));
  for (const { hash, sha256 } of [...payloads(), ...LOOSE_BLOBS]) {
    await ask(async () => engine.hasBlob(hash));
    if (hash !== LARGE?.hash) await ask(async () => engine.getBlob(hash));
    if (sha256 !== undefined) await ask(async () => engine.findBySha256(sha256));
  }
  await ask(async () => toReplay(await engine.commit(KEYED)));
  if (withLarge && LARGE !== undefined) await ask(async () => engine.getBlob(LARGE.hash));
  return answers;
}

function payloads(): readonly NonNullable<Batch['blobs']>[number][] {
  return [...EARLY, ...LATE].flatMap(({ blobs = [] }) => blobs);
}

function toReplay({ replayed, turns }: Committed): unknown {
  return { replayed, turns };
}

function append(context: number, text: string): Batch {
  const { blob, turn } = turnOf(toContextId(context), text);
  return { blobs: [blob], turns: [turn] };
}

function openTurn(context: number): NonNullable<Batch['opens']>[number] {
  return { context: toContextId(context), type: 'stream', version: 1, encoding: Encoding.text };
}

function patchOf(
  turn: number,
  tombstone: boolean,
  blob: ReturnType<typeof blobOf>,
): NonNullable<Batch['patches']>[number] {
  return { turn: toTurnId(turn), tombstone, encoding: Encoding.text, ...payloadOf(blob) };
}

function payloadOf({ hash, bytes }: ReturnType<typeof blobOf>): {
  payload: typeof hash;
  size: number;
} {
  return { payload: hash, size: bytes.length };
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
