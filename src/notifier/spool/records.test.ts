import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readProject } from '../../../test/support/project.ts';
import { decodeFailedTask, decodeRun, decodeTask, decodeTimer, encodeRecord } from './records.ts';
import type { Failure, Task } from './records.ts';

const task = fc.record(
  {
    id: fc.string(),
    author: fc.string(),
    command: fc.string(),
    cwd: fc.string(),
    env: fc.dictionary(fc.string(), fc.string()).map((env) => ({ ...env })),
    addedAt: fc.nat(),
    timeoutMs: fc.nat(),
  },
  {
    requiredKeys: ['id', 'author', 'command', 'cwd', 'env', 'addedAt'],
    noNullPrototype: true,
  },
) as fc.Arbitrary<Task>;

const failure: fc.Arbitrary<Failure> = fc.record({
  reason: fc.constantFrom('exit', 'signal', 'timeout', 'start'),
  exitCode: fc.option(fc.nat(255)),
  signal: fc.option(fc.constant('SIGKILL')),
  output: fc.string(),
  omittedBytes: fc.nat(),
  startedAt: fc.nat(),
  endedAt: fc.nat(),
  runId: fc.string(),
});

describe('records', () => {
  it('are read as they were written', () => {
    fc.assert(
      fc.property(task, failure, (one, how) => {
        expect(decodeTask(encodeRecord(one))).toEqual(one);
        expect(decodeFailedTask(encodeRecord({ ...one, failure: how }))).toEqual({
          ...one,
          failure: how,
        });
        const { timeoutMs: _, ...rest } = one;
        const timer = { ...rest, cron: '* * * * *', zone: 'UTC' };
        expect(decodeTimer(encodeRecord(timer))).toEqual(timer);
      }),
    );
  });

  it('look as the format says', () => {
    const [, text = ''] = /^A task: `(.*)`$/m.exec(readProject('docs/format/notifier.md')) ?? [];
    const read = decodeTask(text);
    expect(read).toMatchObject({ id: 'report', env: { PATH: '/bin' } });
    expect(encodeRecord(read!)).toBe(`${text}\n`);
  });

  it('make no sense with anything missing or of another type', () => {
    const whole = { id: 'a', author: '', command: 'x', cwd: '/', env: {}, addedAt: 1 };
    for (const name of Object.keys(whole)) {
      for (const value of [undefined, null, [], { a: 1 }]) {
        expect(decodeTask(JSON.stringify({ ...whole, [name]: value }))).toBeUndefined();
      }
    }
    for (const text of ['', '{', 'null', '[]', '1', '"a"']) {
      expect(decodeTask(text)).toBeUndefined();
      expect(decodeFailedTask(text)).toBeUndefined();
      expect(decodeTimer(text)).toBeUndefined();
      expect(decodeRun(text)).toBeUndefined();
    }
    expect(decodeFailedTask(JSON.stringify({ ...whole, failure: {} }))).toBeUndefined();
    expect(decodeTimer(JSON.stringify(whole))).toBeUndefined();
  });

  it('never name a process that a signal to many would reach', () => {
    for (const pid of [0, 1, -1, 1.5, '7', null]) {
      expect(decodeRun(JSON.stringify({ runId: 'r', pid, startedAt: 0 }))).toBeUndefined();
    }
    expect(decodeRun('{"runId":"r","pid":7,"startedAt":0}')).toEqual({
      runId: 'r',
      pid: 7,
      startedAt: 0,
    });
  });
});
