import { expect, it } from 'vitest';
import { undisturbed } from './undisturbed.ts';

function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

it('forgives a failure when the process stood still, and no other', async () => {
  let attempts = 0;
  const fail = async (ms: number): Promise<void> => {
    attempts += 1;
    if (attempts > 2) return;
    standStill(ms);
    throw new Error('late');
  };
  await undisturbed(100, fail)(150);
  expect(attempts).toBe(3);
  attempts = 1;
  await expect(undisturbed(10_000, fail)(1)).rejects.toThrow('late');
  expect(attempts).toBe(2);
});

it('gives up a failure that comes again and again', async () => {
  let attempts = 0;
  const work = async (): Promise<void> => {
    attempts += 1;
    standStill(30);
    throw new Error('late');
  };
  await expect(undisturbed(20, work)()).rejects.toThrow('late');
  expect(attempts).toBe(10);
});
