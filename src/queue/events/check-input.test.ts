import { describe, expect, it } from 'vitest';
import {
  checkBatch,
  checkConsumer,
  checkEvent,
  checkLastEventId,
  checkSubscription,
} from './check-input.ts';
import type { NewEvent } from './queue.ts';

const good: NewEvent = { source: 'self', type: 'message', content: 'x' };

describe('events', () => {
  it.each([
    'self',
    'cron',
    'Some One',
    'external',
    'external:telegram:tg-main:dm:alice:alice',
    'external:telegram:tg-main:group:grp-123/topic-456:alice',
    'internal:dm:default:warden',
    'other:thing',
  ])('may come from %s', (source) => {
    expect(checkEvent({ ...good, source })).toEqual({ ...good, source, subtype: null });
  });

  it.each([
    ['', /not empty/],
    ['external:telegram:tg-main:dm:alice', /has 5 segments where 6 are needed/],
    ['external:telegram:tg-main:dm::alice', /empty <session_id>/],
    ['external:Telegram:tg-main:dm:alice:alice', /lower-case/],
    ['internal:dm:default', /has 3 segments where 4/],
    ['internal:dm:default:warden:x', /has 5 segments/],
    ['a\nb', /control character/],
    ['--author', /hyphen/],
    ['\ud800', /surrogate/],
    ['x'.repeat(1025), /1024 bytes/],
  ])('may not come from %j', (source, problem) => {
    expect(() => checkEvent({ ...good, source })).toThrow(problem);
  });

  it.each([
    [{ type: 'note' }, /message or record/],
    [{ subtype: 'Tool Call' }, /lower-case word/],
    [{ subtype: '' }, /lower-case word/],
    [{ content: 5 }, /must be a text/],
    [{ content: undefined }, /must be a text/],
    [{ content: '\udc00' }, /surrogate/],
    [{ content: 'x'.repeat((8 << 20) + 1) }, /at most 8388608 bytes/],
  ])('are refused with %j', (part, problem) => {
    expect(() => checkEvent({ ...good, ...part } as NewEvent)).toThrow(problem);
  });

  it('are named by their place in a batch', () => {
    expect(() => checkBatch([good, { ...good, source: '' }])).toThrow(/^event 2: source/);
    expect(checkBatch([])).toEqual([]);
  });
});

describe('consumers', () => {
  it('have names that are safe as file names', () => {
    expect(checkConsumer('worker-1.a_b')).toBe('worker-1.a_b');
    for (const name of ['Worker 1', 'agent:7', 'Zoë', '..']) expect(checkConsumer(name)).toBe(name);
    const long = ['x'.repeat(129), '工'.repeat(70)];
    for (const name of ['', 'a/b', '../x', 'a\\b', '-a', ...long, 5, 'a\n', '\ud800']) {
      expect(() => checkConsumer(name), String(name)).toThrow(/^consumer /);
    }
  });

  it('have a handler of one line and a filter that can be read', () => {
    const given = { consumer: 'a', handler: 'echo "x" | cat' };
    expect(checkSubscription(given)).toEqual({
      consumer_id: 'a',
      handler_cmd: 'echo "x" | cat',
      filter: null,
    });
    expect(() => checkSubscription({ ...given, handler: ' ' })).toThrow(/not empty/);
    expect(() => checkSubscription({ ...given, handler: 'a\nb' })).toThrow(/one line/);
    expect(() => checkSubscription({ ...given, filter: '1' })).toThrow(/filter is refused/);
  });

  it('acknowledge what there is', () => {
    for (const id of [3, 3n, '3']) expect(checkLastEventId(id)).toBe(3);
    for (const id of [-1, 1.5, NaN, '', '03', ' 3', '3n', '9'.repeat(16), 2n ** 53n, undefined]) {
      expect(() => checkLastEventId(id), String(id)).toThrow(/^last event id/);
    }
  });
});
