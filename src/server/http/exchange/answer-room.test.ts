import { setImmediate as turn } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { failure } from '../../../testing/engine-suite/fixture.ts';
import { ByteBudget } from '../../memory/byte-budget.ts';
import { AnswerRoom } from './answer-room.ts';
import type { Asker } from './answer-room.ts';

const MIB = 1024 * 1024;

function asker(stalledMs = 0): Asker & { cut: () => void; abort: () => void } {
  const aborter = new AbortController();
  const cut = vi.fn<() => void>();
  const pace = { stalledMs: () => stalledMs, cut, drained: () => Promise.resolve() };
  return { pace: pace as never, signal: aborter.signal, cut, abort: () => aborter.abort() };
}

it('gives room in the order of asking, and counts it until it is given back', async () => {
  const budget = new ByteBudget(100);
  const room = new AnswerRoom(budget, 10);
  const first = await room.hold(8, asker());
  const began: string[] = [];
  const second = room.hold(3, asker()).then((left) => (began.push('second'), left));
  const third = room.hold(1, asker()).then((left) => (began.push('third'), left));
  await turn();
  expect([began, budget.held]).toEqual([[], 8]);
  first();
  first();
  for (const left of await Promise.all([second, third])) left();
  expect([began, budget.held]).toEqual([['second', 'third'], 0]);
  // An answer larger than all of the room gets the room alone.
  (await room.hold(1000, asker()))();
  expect(budget.held).toBe(0);
});

it('lets go of who waits and goes', async () => {
  const budget = new ByteBudget(100);
  const room = new AnswerRoom(budget, 10);
  const left = await room.hold(10, asker());
  const gone = asker();
  const waiting = failure(room.hold(5, gone), 'CLOSED');
  const next = room.hold(10, asker());
  gone.abort();
  await waiting;
  left();
  (await next)();
  await failure(room.hold(1, gone), 'CLOSED');
  expect(budget.held).toBe(0);
});

it('cuts off who takes nothing, but only while somebody waits', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  try {
    const room = new AnswerRoom(new ByteBudget(100), 10);
    const [slow, quick, other] = [asker(60_000), asker(10), asker()];
    const left = await room.hold(5, slow);
    await room.hold(5, quick);
    vi.advanceTimersByTime(10_000);
    expect(slow.cut).not.toHaveBeenCalled();
    const waiting = room.hold(5, other);
    vi.advanceTimersByTime(1000);
    expect(slow.cut).toHaveBeenCalled();
    expect(quick.cut).not.toHaveBeenCalled();
    left();
    await waiting;
  } finally {
    vi.useRealTimers();
  }
});

it('makes few answers at once when the last ones were large', async () => {
  const room = new AnswerRoom(new ByteBudget(MIB), MIB);
  for (let n = 0; n < 10; n += 1) (await room.make(asker()))(100);
  const small = await Promise.all([room.make(asker()), room.make(asker())]);
  for (const made of small) made(64 * MIB);
  const one = await room.make(asker());
  let began = false;
  const next = room.make(asker()).then((made) => {
    began = true;
    return made;
  });
  await turn();
  expect(began).toBe(false);
  one(100);
  (await next)();
  expect(began).toBe(true);
});
