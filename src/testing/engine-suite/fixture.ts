import { expect, it, onTestFinished, type TestAPI } from 'vitest';

import type { ContextId, Hash, TurnId } from '../../base/brand.ts';
import { QuipuError } from '../../base/errors.ts';
import type { ErrorCode } from '../../base/errors.ts';
import { hashBytes } from '../../base/hash.ts';
import type {
  Batch,
  BlobPut,
  Change,
  ContextChange,
  ContextRef,
  TurnAppend,
} from '../../engine/batch.ts';
import type { Engine } from '../../engine/engine.ts';
import type { ContextMeta, ContextRow, PatchRow, TurnRow } from '../../engine/rows.ts';
import { Encoding } from '../../format/turn-record.ts';
import type { EngineOpening, EngineTarget } from './engine-target.ts';

/** Cases that get a fresh store, if they ask for it. */
export function engineCases(target: EngineTarget): TestAPI<{ engine: Engine }> {
  return it.extend<{ engine: Engine }>({
    // oxlint-disable-next-line no-empty-pattern -- a case asks for what it needs by its name, and so does this
    engine: async ({}, use) => use(await openEngine(target)),
  });
}

/** Opens a fresh store that is closed when the test is over, whatever its result. */
export async function openEngine(
  target: EngineTarget,
  opening: EngineOpening = {},
): Promise<Engine> {
  const engine = await target.open(opening);
  onTestFinished(() => engine.close());
  return engine;
}

export async function reopenEngine(
  target: EngineTarget,
  engine: Engine,
  opening: EngineOpening = {},
): Promise<Engine> {
  if (target.reopen === undefined)
    throw new TypeError(`${target.name} says it can reopen, and does not`);
  await engine.close();
  const again = await target.reopen(engine, opening);
  onTestFinished(() => again.close());
  return again;
}

export function blobOf(content: string | Uint8Array): BlobPut {
  const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content;
  return { hash: hashBytes(bytes), bytes };
}

type TurnGiven = Partial<Omit<TurnAppend, 'context'>>;

/** A turn and the blob it needs. */
export function turnOf(
  context: ContextRef,
  content: string,
  given: TurnGiven = {},
): { blob: BlobPut; turn: TurnAppend } {
  const blob = blobOf(content);
  const about = { type: 'test.note', version: 1, encoding: Encoding.text };
  return {
    blob,
    turn: { context, ...about, payload: blob.hash, size: blob.bytes.length, ...given },
  };
}

export function appendBatch(context: ContextRef, content: string, given: TurnGiven = {}): Batch {
  const { blob, turn } = turnOf(context, content, given);
  return { blobs: [blob], turns: [turn] };
}

export async function append(
  engine: Engine,
  context: ContextId,
  content: string,
  given: TurnGiven = {},
): Promise<TurnRow> {
  return only((await engine.commit(appendBatch(context, content, given))).turns);
}

/** Appends one turn per text in one batch. */
export async function appendAll(
  engine: Engine,
  context: ContextId,
  contents: readonly string[],
): Promise<readonly TurnRow[]> {
  const all = contents.map((content) => turnOf(context, content));
  const batch = { blobs: all.map(({ blob }) => blob), turns: all.map(({ turn }) => turn) };
  return (await engine.commit(batch)).turns;
}

export async function createContext(
  engine: Engine,
  given: { base?: TurnId; meta?: ContextMeta } = {},
): Promise<ContextRow> {
  const create: ContextChange = { do: 'create', ...given };
  return only((await engine.commit({ contexts: [create] })).contexts);
}

export async function openTurn(
  engine: Engine,
  context: ContextId,
  parent?: TurnId,
): Promise<TurnRow> {
  const about = { type: 'test.stream', version: 1, encoding: Encoding.text };
  const open = { context, ...about, ...(parent === undefined ? {} : { parent }) };
  return only((await engine.commit({ opens: [open] })).opened);
}

export async function writeDelta(
  engine: Engine,
  turn: TurnId,
  offset: number,
  text: string,
): Promise<void> {
  await engine.commit({ deltas: [{ turn, offset, bytes: new TextEncoder().encode(text) }] });
}

export async function sealTurn(
  engine: Engine,
  turn: TurnId,
  content: string,
  outcome: 'complete' | 'aborted' | 'interrupted' = 'complete',
): Promise<TurnRow> {
  const blob = blobOf(content);
  const seal = { turn, outcome, payload: blob.hash, size: blob.bytes.length };
  return only((await engine.commit({ blobs: [blob], seals: [seal] })).sealed);
}

export async function patchTurn(
  engine: Engine,
  turn: TurnId,
  content: string,
  given: { expectedSeq?: number; tombstone?: boolean } = {},
): Promise<PatchRow> {
  const blob = blobOf(content);
  const patch = {
    tombstone: false,
    encoding: Encoding.text,
    payload: blob.hash,
    size: blob.bytes.length,
  };
  return only(
    (await engine.commit({ blobs: [blob], patches: [{ turn, ...patch, ...given }] })).patches,
  );
}

export async function appendLines(engine: Engine, name: string, ...lines: string[]): Promise<void> {
  await engine.commit({ logs: [{ do: 'append', name, lines }] });
}

export async function putDoc(
  engine: Engine,
  name: string,
  content: string | undefined,
): Promise<void> {
  await engine.commit({ docs: [{ name, content }] });
}

/** Collects the changes that a listener hears until the test is over. */
export function listen(engine: Engine): Change[] {
  const heard: Change[] = [];
  engine.subscribe((change) => heard.push(change));
  return heard;
}

export function only<T>(items: readonly T[]): T {
  const [item, ...others] = items;
  if (item === undefined || others.length > 0)
    throw new Error(`expected one item, got ${items.length}`);
  return item;
}

export function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('expected something and got nothing');
  return value;
}

/** Returns the bytes of a blob as a plain array: an engine may answer with a `Buffer`, which never equals one. */
export async function readBytes(engine: Engine, hash: Hash): Promise<Uint8Array | undefined> {
  const bytes = await engine.getBlob(hash);
  return bytes === undefined ? undefined : new Uint8Array(bytes);
}

export function textOf(bytes: Uint8Array | undefined): string | undefined {
  return bytes === undefined ? undefined : new TextDecoder().decode(bytes);
}

/** Returns the error that `work` ends with, after checking that it is ours and has this code. */
export async function failure(work: Promise<unknown>, code: ErrorCode): Promise<QuipuError> {
  const ended = await work.then(
    () => new Error(`expected ${code}, and it succeeded`),
    (error: unknown) => error,
  );
  if (!(ended instanceof QuipuError)) throw ended;
  expect(ended.toJSON()).toMatchObject({ code });
  return ended;
}

/** Like `failure`, for several at once: some may fail before others are looked at. */
export async function failures(
  works: readonly Promise<unknown>[],
  code: ErrorCode,
): Promise<QuipuError[]> {
  return Promise.all(works.map((work) => failure(work, code)));
}
