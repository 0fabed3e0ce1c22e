import { describe, expect, it, vi } from 'vitest';
import type { TurnId } from '../../base/brand.ts';
import { QuipuError } from '../../base/errors.ts';
import { Lifetime } from '../../base/lifetime.ts';
import type { Batch } from '../../engine/batch.ts';
import { ModelEngine } from '../../testing/model-engine.ts';
import { createContexts } from '../verbs/create-contexts.ts';

/** An engine whose commits with deltas fail while `full`, and that can be disturbed. */
class FullEngine extends ModelEngine {
  full = false;
  deltaCommits = 0;
  beforeSeal: () => Promise<void> = () => Promise.resolve();

  override async commit(batch: Batch): ReturnType<ModelEngine['commit']> {
    if (batch.deltas !== undefined) {
      this.deltaCommits += 1;
      if (this.full) throw new QuipuError('DISK_FULL', 'no room', { path: 'journal' });
    }
    if (batch.seals !== undefined) await this.beforeSeal();
    return super.commit(batch);
  }
}

async function openTurn() {
  const engine = new FullEngine();
  const contexts = createContexts(engine);
  const { id } = await contexts.create();
  return { engine, contexts, turn: await contexts.open(id, { type: 't' }) };
}

describe('an open turn on a full disk', () => {
  it('fails until a fresh handle goes on, and leaves no hole', async () => {
    const { engine, contexts, turn } = await openTurn();
    await turn.write('one ');
    await turn.flush();
    engine.full = true;
    await turn.write('two ');
    await expect(turn.flush()).rejects.toMatchObject({ code: 'DISK_FULL' });
    engine.full = false;
    await expect(turn.write('three ')).rejects.toMatchObject({ code: 'DISK_FULL' });
    await expect(turn.seal()).rejects.toMatchObject({ code: 'DISK_FULL' });
    expect(turn.acknowledgedBytes).toBe(4);
    const again = await contexts.resume(turn.id);
    await again.write('two');
    expect((await again.seal()).payload).toBe('one two');
  });

  it('can still be aborted, with what was acknowledged', async () => {
    const { engine, turn } = await openTurn();
    await turn.write('one ');
    await turn.flush();
    engine.full = true;
    void turn.write('two ');
    expect(await turn.abort('no room')).toMatchObject({ outcome: 'aborted', payload: 'one ' });
  });
});

describe('an open turn that another process writes', () => {
  it('can be aborted between two of its writes', async () => {
    const { engine, contexts, turn } = await openTurn();
    // Bytes arrive until the last moment.
    engine.beforeSeal = async () => {
      await turn.write('xxxxx');
      await turn.flush();
    };
    const aborted = await contexts.abort(turn.id, 'stopped');
    engine.beforeSeal = () => Promise.resolve();
    expect(aborted).toMatchObject({ payload: 'xxxxx', reason: 'stopped' });
    await expect(turn.seal()).rejects.toMatchObject({ code: 'INVALID' });
    await turn.write('y');
    await expect(turn.flush()).rejects.toMatchObject({ code: 'INVALID' });
    const again = contexts.abort(turn.id, 'said later');
    await expect(again).rejects.toMatchObject({ code: 'INVALID' });
    expect(await contexts.turn(turn.id)).toMatchObject({ reason: 'stopped' });
    await expect(contexts.abort(99n as TurnId, 'x')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('is tried to be ended any number of times, and nothing of that is held until the store closes', async () => {
    const held = vi.spyOn(Lifetime.prototype, 'onClose');
    const { contexts, turn } = await openTurn();
    await turn.write(Uint8Array.of(0xff));
    await turn.flush();
    const before = held.mock.calls.length;
    for (let tries = 0; tries < 10; tries += 1) {
      const other = await contexts.resume(turn.id);
      await expect(other.seal()).rejects.toMatchObject({ code: 'INVALID' });
    }
    expect(held.mock.calls.length).toBe(before);
    held.mockRestore();
  });

  it('is not sealed over bytes that its sealer has not seen', async () => {
    const { engine, contexts, turn } = await openTurn();
    const other = await contexts.resume(turn.id);
    engine.beforeSeal = async () => {
      await turn.write('x');
      await turn.flush();
    };
    await expect(other.seal()).rejects.toMatchObject({ code: 'HEAD_MOVED' });
  });
});

describe('many small writes', () => {
  it('cost few commits', async () => {
    const { engine, turn } = await openTurn();
    for (let n = 0; n < 1000; n += 1) void turn.write('token ');
    expect((await turn.seal()).size).toBe(6000);
    expect(engine.deltaCommits).toBeLessThanOrEqual(3);
  });
});
