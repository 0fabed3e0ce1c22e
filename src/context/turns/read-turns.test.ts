import { describe, expect, it } from 'vitest';
import type { TurnId } from '../../base/brand.ts';
import { QuipuError } from '../../base/errors.ts';
import { hashBytes } from '../../base/hash.ts';
import { ModelEngine } from '../../testing/model-engine.ts';
import { createContexts } from '../verbs/create-contexts.ts';

async function openWith(...payloads: unknown[]) {
  const engine = new ModelEngine();
  const contexts = createContexts(engine);
  const { id } = await contexts.create();
  const turns = [];
  for (const payload of payloads) turns.push(await contexts.append(id, { type: 't', payload }));
  return { engine, contexts, id, turns };
}

async function codeAndMessage(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'no error',
    (error: unknown) =>
      error instanceof QuipuError ? `${error.code} ${error.message}` : String(error),
  );
}

describe('a payload that is not there', () => {
  it('is CORRUPT, names the turn, and is never skipped', async () => {
    const { engine, contexts, id, turns } = await openWith('a', 'b', 'c');
    const turn = turns[1]!;
    engine.viewBlob = async (hash) =>
      hash === turn.payloadHash ? undefined : Buffer.from(`"${hash}"`);
    const chain = async (): Promise<void> => {
      for await (const _ of contexts.chain(turns[2]!.id));
    };
    for (const work of [
      contexts.last(id, 9),
      contexts.range(id, 1, 2),
      contexts.turn(turn.id),
      chain(),
    ]) {
      expect(await codeAndMessage(work)).toMatch(/^CORRUPT the payload of turn 2 .* is missing$/);
    }
    expect((await contexts.last(id, 9, { payload: false })).turns.length).toBe(3);
    expect((await contexts.last(id, 1)).turns.length).toBe(1);
  });

  it('keeps the place of damage and passes other errors on', async () => {
    const { engine, contexts, turns } = await openWith('a');
    const place = { file: 'blobs/pack-000001.pack', offset: 32 };
    engine.viewBlob = () => Promise.reject(new QuipuError('CORRUPT', 'bad checksum', place));
    await expect(contexts.turn(turns[0]!.id)).rejects.toMatchObject({
      code: 'CORRUPT',
      data: place,
      message: expect.stringMatching(/turn 1 .* is damaged/) as unknown,
    });
    engine.viewBlob = () =>
      Promise.reject(new QuipuError('IO', 'EIO', { path: 'p', errno: 'EIO' }));
    await expect(contexts.turn(turns[0]!.id)).rejects.toMatchObject({ code: 'IO' });
  });
});

describe('a turn that its writer left', () => {
  it('shows the text so far and says that it was interrupted', async () => {
    const { engine, contexts, id } = await openWith();
    const { id: turn } = await contexts.open(id, { type: 't' });
    const bytes = Buffer.from('grü').subarray(0, 3);
    const seal = { turn, outcome: 'interrupted', payload: hashBytes(bytes), size: 3 } as const;
    await engine.commit({ blobs: [{ hash: seal.payload, bytes }], seals: [seal] });
    const read = await contexts.turn(turn);
    expect(read).toMatchObject({ outcome: 'interrupted', state: 'sealed', flags: 4 });
    expect(read?.payload).toBe('gr\uFFFD');
    expect(read?.reason).toBeUndefined();
  });
});

describe('a payload that does not decode', () => {
  it('is given as the bytes it is, with a flag', async () => {
    const { contexts, id } = await openWith();
    const payload = Buffer.from([0xc1]);
    const { id: turn } = await contexts.append(id, { type: 't', payload, encoding: 'msgpack' });
    const read = await contexts.turn(turn);
    expect(read?.payload).toEqual(new Uint8Array([0xc1]));
    expect(read?.undecodable).toBe(true);
    expect(read?.bytes).toEqual(new Uint8Array([0xc1]));
    expect(read?.toJSON()).toMatchObject({ payload: { base64: 'wQ==' }, undecodable: true });
  });

  it('is not looked at until asked for', async () => {
    const { contexts, turns } = await openWith({ n: 1 });
    const read = await contexts.turn(turns[0]!.id);
    expect(read?.payload).toBe(read?.payload);
    const again = await contexts.turn(turns[0]!.id as TurnId);
    expect(again?.payload).not.toBe(read?.payload);
  });
});

describe('reading many turns', () => {
  it('fetches a payload once, and pages of a chain one after the other', async () => {
    const { engine, contexts, id } = await openWith();
    const same = Array.from({ length: 600 }, () => ({ type: 't', payload: 'same' }));
    const added = await contexts.appendBatch(id, same);
    const calls = { viewBlob: 0, walkBack: 0 };
    const [viewBlob, walkBack] = [engine.viewBlob.bind(engine), engine.walkBack.bind(engine)];
    engine.viewBlob = (hash) => {
      calls.viewBlob += 1;
      return viewBlob(hash);
    };
    engine.walkBack = (from, limit) => {
      calls.walkBack += 1;
      expect(limit).toBeLessThanOrEqual(256);
      return walkBack(from, limit);
    };
    const chain = contexts.chain(added.at(-1)!.id)[Symbol.asyncIterator]();
    await chain.next();
    expect(calls).toEqual({ viewBlob: 1, walkBack: 1 });
    for (let n = 1; n < 600; n += 1) await chain.next();
    expect(await chain.next()).toMatchObject({ done: true });
    expect(calls).toEqual({ viewBlob: 3, walkBack: 3 });
  });
});
