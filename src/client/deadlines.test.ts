import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Deadlines } from './deadlines.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});

afterEach(() => {
  vi.useRealTimers();
});

it('calls each one when its time has come, whatever their order', () => {
  const deadlines = new Deadlines();
  const passed: string[] = [];
  deadlines.add(300, () => passed.push('late'));
  deadlines.add(100, () => passed.push('early'));
  deadlines.add(200, () => passed.push('between'));
  vi.advanceTimersByTime(100);
  expect(passed).toEqual(['early']);
  vi.advanceTimersByTime(100);
  expect(passed).toEqual(['early', 'between']);
  vi.advanceTimersByTime(100);
  expect(passed).toEqual(['early', 'between', 'late']);
});

it('calls none that was cancelled, and those behind it in time', () => {
  const deadlines = new Deadlines();
  const passed: string[] = [];
  const cancel = deadlines.add(100, () => passed.push('cancelled'));
  deadlines.add(150, () => passed.push('kept'));
  cancel();
  vi.advanceTimersByTime(149);
  expect(passed).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(passed).toEqual(['kept']);
});

it('lets one that passed add another', () => {
  const deadlines = new Deadlines();
  let passed = 0;
  deadlines.add(10, () => {
    deadlines.add(10, () => {
      passed += 1;
    });
  });
  vi.advanceTimersByTime(20);
  expect(passed).toBe(1);
});
