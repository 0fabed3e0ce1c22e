import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { Vigil } from './vigil.ts';

/** A vigil with a clock that goes when it is told to, and for which what it waits for came soon. */
function rig(maxMs: number) {
  let nowMs = 0;
  const vigil = new Vigil(maxMs, { processors: 2, now: () => nowMs });
  vigil.begin();
  vigil.end();
  const pass = (ms: number): void => {
    nowMs += ms;
  };
  return { vigil, pass };
}

/** How long the event loop slept during 30 ms. */
async function slept(): Promise<number> {
  const before = performance.eventLoopUtilization();
  await sleep(30);
  return performance.eventLoopUtilization(before).idle;
}

describe('Vigil', () => {
  it('stays awake for what came soon the last time, until it comes', async () => {
    const { vigil } = rig(10);
    expect(vigil.begin()).toBe(true);
    expect(await slept()).toBeLessThan(3);
    vigil.end();
    expect(await slept()).toBeGreaterThan(3);
  });

  it('sleeps as long as nothing is known', async () => {
    const vigil = new Vigil(10, { processors: 2 });
    expect(vigil.begin()).toBe(false);
    expect(await slept()).toBeGreaterThan(3);
  });

  it('sleeps when its time is over', async () => {
    const { vigil, pass } = rig(0.4);
    vigil.begin();
    pass(0.3);
    expect(await slept()).toBeLessThan(3);
    pass(0.2);
    expect(await slept()).toBeGreaterThan(3);
  });

  it('forgives one wait that was too long, and not two in a row', () => {
    const { vigil, pass } = rig(10);
    const wait = (ms: number): boolean => {
      const isAwake = vigil.begin();
      pass(ms);
      vigil.end();
      return isAwake;
    };
    expect([wait(11), wait(9), wait(11), wait(11)]).toEqual([true, true, true, true]);
    expect([wait(9), wait(9)]).toEqual([false, true]);
  });

  it('leaves a processor that others want: when a turn of the loop took long', async () => {
    const { vigil, pass } = rig(10);
    vigil.begin();
    await sleep(5);
    pass(1);
    expect(await slept()).toBeGreaterThan(3);
  });

  it('rests when it was not let on a processor at all, and for longer when that happens again', async () => {
    const { vigil, pass } = rig(100);
    /** How long it sleeps through all waits after a turn of the loop that took long. */
    const rest = async (): Promise<number> => {
      expect(vigil.begin()).toBe(true);
      await sleep(5);
      pass(20);
      await sleep(5);
      vigil.end();
      for (let ms = 0; ; ms += 10) {
        const isAwake = vigil.begin();
        vigil.end();
        if (isAwake) return ms;
        pass(10);
      }
    };
    expect([await rest(), await rest(), await rest()]).toEqual([50, 200, 800]);
    pass(1000);
    expect(await rest()).toBe(50);
  });

  it('sleeps until something came soon again, once it was given up', () => {
    const { vigil } = rig(10);
    vigil.begin();
    vigil.giveUp();
    expect(vigil.begin()).toBe(false);
    vigil.end();
    expect(vigil.begin()).toBe(true);
    vigil.end();
  });

  it('always sleeps with one processor', () => {
    const vigil = new Vigil(10, { processors: 1, now: () => 0 });
    vigil.begin();
    vigil.end();
    expect(vigil.begin()).toBe(false);
  });
});
