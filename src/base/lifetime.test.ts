import { describe, expect, it } from 'vitest';
import { Bell } from './bell.ts';
import { Lifetime } from './lifetime.ts';
import { OneAtATime } from './one-at-a-time.ts';

describe('Lifetime', () => {
  it('runs its hooks once, then refuses by name', async () => {
    const lifetime = new Lifetime();
    const ran: string[] = [];
    lifetime.onClose(() => void ran.push('a'));
    lifetime.onClose(() => Promise.reject(new Error('failed')));
    lifetime.onClose(() => void ran.push('taken back'))();
    lifetime.assertOpen('contexts.get');
    await lifetime.close();
    await lifetime.close();
    expect(ran).toEqual(['a']);
    expect(() => lifetime.assertOpen('contexts.get')).toThrow(/contexts\.get: the store is closed/);
  });
});

describe('Bell', () => {
  it('loses no ring and counts those that nobody heard as one', async () => {
    const bell = new Bell();
    bell.ring();
    bell.ring();
    await bell.wait();
    let woken = false;
    const waiting = bell.wait().then(() => (woken = true));
    await Promise.resolve();
    expect(woken).toBe(false);
    bell.ring();
    expect(await waiting).toBe(true);
  });
});

describe('OneAtATime', () => {
  it('keeps tasks of one key apart, also after a failure', async () => {
    const queue = new OneAtATime<string>();
    const events: string[] = [];
    const task =
      (name: string, fails = false) =>
      async () => {
        events.push(`${name} begins`);
        await Promise.resolve();
        events.push(`${name} ends`);
        if (fails) throw new Error(name);
      };
    const done = await Promise.allSettled([
      queue.run('k', task('a', true)),
      queue.run('k', task('b')),
    ]);
    expect(events).toEqual(['a begins', 'a ends', 'b begins', 'b ends']);
    expect(done.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
  });
});

it('guards verbs: a promise rejects, an iteration throws at once, and fields stay', async () => {
  const lifetime = new Lifetime();
  const verbs = lifetime.guard('things', {
    id: 'one',
    get: async (id: number) => id + 1,
    *each(end: number) {
      for (let n = 0; n < end; n += 1) yield n;
    },
  });
  expect([verbs.id, await verbs.get(1), [...verbs.each(2)]]).toEqual(['one', 2, [0, 1]]);
  await lifetime.close();
  await expect(verbs.get(1)).rejects.toMatchObject({
    code: 'CLOSED',
    data: { what: 'things.get' },
  });
  expect(() => verbs.each(2)).toThrow('things.each: the store is closed');
  expect(verbs.id).toBe('one');
});
