import { describe, expect, it, afterEach, beforeEach, vi } from 'vitest';
import { RequestSlots, Deadlines } from './pending-calls.ts';
import type { Deadline } from './pending-calls.ts';

describe('RequestSlots', () => {
  it('lets in as many as fit, the others in their order', async () => {
    const slots = new RequestSlots({ requests: 2, bytes: 100 });
    const entered: number[] = [];
    const enter = (n: number): void => {
      const waiting = slots.enter(1);
      if (waiting === undefined) entered.push(n);
      else void waiting.then(() => entered.push(n));
    };
    for (const n of [1, 2, 3, 4]) enter(n);
    expect(entered).toEqual([1, 2]);
    slots.leave(1);
    await Promise.resolve();
    expect(entered).toEqual([1, 2, 3]);
    slots.leave(1);
    slots.leave(1);
    await Promise.resolve();
    expect(entered).toEqual([1, 2, 3, 4]);
  });

  it('counts bytes, and lets one of any size in', () => {
    const slots = new RequestSlots({ requests: 9, bytes: 100 });
    expect(slots.enter(500)).toBeUndefined();
    expect(slots.enter(1)).toBeInstanceOf(Promise);
    slots.leave(500);
    expect(slots.enter(99)).toBeUndefined();
  });
});

function deadline(inMs: number, passed: () => void): Deadline {
  return { at: performance.now() + inMs, passed };
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});

afterEach(() => {
  vi.useRealTimers();
});

it('tells each one when its time has come, whatever their order', () => {
  const deadlines = new Deadlines();
  const passed: string[] = [];
  deadlines.add(deadline(300, () => passed.push('late')));
  deadlines.add(deadline(100, () => passed.push('early')));
  deadlines.add(deadline(200, () => passed.push('between')));
  vi.advanceTimersByTime(100);
  expect(passed).toEqual(['early']);
  vi.advanceTimersByTime(100);
  expect(passed).toEqual(['early', 'between']);
  vi.advanceTimersByTime(100);
  expect(passed).toEqual(['early', 'between', 'late']);
});

it('tells none that was taken back, and those behind it in time', () => {
  const deadlines = new Deadlines();
  const passed: string[] = [];
  const first = deadline(100, () => passed.push('taken back'));
  deadlines.add(first);
  deadlines.add(deadline(150, () => passed.push('kept')));
  deadlines.takeBack(first);
  vi.advanceTimersByTime(149);
  expect(passed).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(passed).toEqual(['kept']);
});

it('lets one that passed add another', () => {
  const deadlines = new Deadlines();
  let passed = 0;
  const second = (): void => {
    passed += 1;
  };
  deadlines.add(deadline(10, () => deadlines.add(deadline(10, second))));
  vi.advanceTimersByTime(20);
  expect(passed).toBe(1);
});
