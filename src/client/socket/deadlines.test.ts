import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Deadlines } from './deadlines.ts';
import type { Deadline } from './deadlines.ts';

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
