import { describe, expect, it, vi } from 'vitest';
import type { TurnId } from '../../base/brand.ts';
import { TurnFlag } from '../../format/turn-record.ts';
import { ModelEngine } from '../../testing/model-engine.ts';
import { OpenTurnLeases } from './binary-server.ts';

async function openTurn(engine: ModelEngine): Promise<TurnId> {
  const { contexts } = await engine.commit({ contexts: [{ do: 'create' }] });
  const open = { context: contexts[0]!.id, type: 't', version: 1, encoding: 3 };
  return (await engine.commit({ opens: [open] })).opened[0]!.id;
}

async function write(engine: ModelEngine, turn: TurnId, offset: number): Promise<void> {
  await engine.commit({ deltas: [{ turn, offset, bytes: Buffer.from('text') }] });
}

describe('OpenTurnLeases', () => {
  it('seals a turn that nobody writes to, with every byte it has', async () => {
    const engine = new ModelEngine();
    let now = 0;
    const failed = vi.fn<(error: unknown) => void>();
    const leases = new OpenTurnLeases(engine, { leaseMs: 1000, failed, now: () => now });
    const [idle, busy] = [await openTurn(engine), await openTurn(engine)];
    await write(engine, idle, 0);
    now = 900;
    await write(engine, busy, 0);
    await leases.sealIdle();
    expect((await engine.getTurn(idle))?.flags).toBe(TurnFlag.OPEN);
    now = 1000;
    await leases.sealIdle();
    expect(await engine.getTurn(idle)).toMatchObject({ flags: TurnFlag.INTERRUPTED, size: 4 });
    expect((await engine.getTurn(busy))?.flags).toBe(TurnFlag.OPEN);
    expect(failed).not.toHaveBeenCalled();
    await leases.close();
  });

  it('counts turns that were open before, from when it began', async () => {
    const engine = new ModelEngine();
    const turn = await openTurn(engine);
    let now = 5000;
    const leases = new OpenTurnLeases(engine, {
      leaseMs: 1000,
      failed: () => undefined,
      now: () => now,
    });
    await leases.sealIdle();
    expect((await engine.getTurn(turn))?.flags).toBe(TurnFlag.OPEN);
    now = 6000;
    await leases.sealIdle();
    expect((await engine.getTurn(turn))?.flags).toBe(TurnFlag.INTERRUPTED);
    await leases.close();
  });

  it('loses no byte that comes at the last moment', async () => {
    const engine = new ModelEngine();
    let now = 0;
    const failed = vi.fn<(error: unknown) => void>();
    const leases = new OpenTurnLeases(engine, { leaseMs: 1000, failed, now: () => now });
    const turn = await openTurn(engine);
    now = 1000;
    const read = engine.getTurn.bind(engine);
    vi.spyOn(engine, 'getTurn').mockImplementationOnce(async (id) => {
      const row = await read(id);
      await write(engine, id, 0);
      return row;
    });
    await leases.sealIdle();
    expect(await engine.getTurn(turn)).toMatchObject({ flags: TurnFlag.OPEN, size: 4 });
    expect(failed).not.toHaveBeenCalled();
    now = 2000;
    await leases.sealIdle();
    expect(await engine.getTurn(turn)).toMatchObject({ flags: TurnFlag.INTERRUPTED, size: 4 });
    await leases.close();
  });

  it('goes on after a seal that failed', async () => {
    const engine = new ModelEngine();
    let now = 0;
    const failed = vi.fn<(error: unknown) => void>();
    const leases = new OpenTurnLeases(engine, { leaseMs: 1000, failed, now: () => now });
    const turn = await openTurn(engine);
    now = 1000;
    vi.spyOn(engine, 'commit').mockRejectedValueOnce(new Error('no room'));
    await leases.sealIdle();
    expect(failed).toHaveBeenCalledOnce();
    await leases.sealIdle();
    expect((await engine.getTurn(turn))?.flags).toBe(TurnFlag.INTERRUPTED);
    await leases.close();
  });
});
