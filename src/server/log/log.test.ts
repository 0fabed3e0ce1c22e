import { expect, it, vi } from 'vitest';
import { createLog, toShortLine, bothHooks } from './log.ts';
import { mintToken } from '../access/token-file.ts';

function lines(forPeople: boolean, level: 'info' | 'silent' = 'info'): string[] {
  const written: string[] = [];
  const log = createLog({ level, forPeople, write: (text) => void written.push(text) });
  log.debug({}, 'too small');
  log.info({ path: '/v1/contexts', ms: 1.5, tag: 'two words' }, 'request');
  log.error({ err: new TypeError('a fault') }, 'a request failed');
  return written;
}

it('writes JSON for machines, with what an error says and where', () => {
  const [first, second, ...rest] = lines(false);
  expect(rest).toEqual([]);
  expect(JSON.parse(first!)).toMatchObject({ level: 30, msg: 'request', path: '/v1/contexts' });
  expect(JSON.parse(second!)).toMatchObject({ level: 50, err: { message: 'a fault' } });
  expect(second).toContain('log.test');
});

it('writes short lines for people, which end where they should', () => {
  expect(lines(true)).toEqual([
    expect.stringMatching(
      /^\d\d:\d\d:\d\d info {2}request path=\/v1\/contexts ms=1.5 tag="two words"\n$/,
    ),
    expect.stringMatching(/^\d\d:\d\d:\d\d ERROR a request failed err="a fault"\n$/),
  ]);
  const hostile = JSON.stringify({ level: 30, time: '', msg: 'x', tag: '\u001b[2J\nforged' });
  expect(toShortLine(hostile)).toMatch(/tag="\\u001b\[2J\\nforged"\n$/);
});

it('is silent when told', () => {
  expect(lines(true, 'silent')).toEqual([]);
});

it.each([true, false])('hides a token wherever a client put it (for people: %s)', (forPeople) => {
  const written: string[] = [];
  const log = createLog({ level: 'info', forPeople, write: (text) => void written.push(text) });
  const token = mintToken();
  log.info({ path: `/v1/contexts/${token}/turns`, id: token, tag: `a ${token}` }, 'request');
  log.error({ err: new TypeError(`no ${token}`) }, 'a request failed');
  expect(written.join('')).not.toContain(token.slice(0, -5));
  expect(written[0]).toContain('/v1/contexts/quipu_…/turns');
});

it('calls both, the first one first', () => {
  const told: string[] = [];
  const hooks = bothHooks(
    { received: (bytes) => told.push(`a ${bytes}`) },
    { received: (bytes) => told.push(`b ${bytes}`) },
  );
  hooks.received?.(5);
  expect(told).toEqual(['a 5', 'b 5']);
});

it('leaves out what neither has, and a call more where one has it', () => {
  const sent = vi.fn<(bytes: number) => void>();
  const refused = vi.fn<() => void>();
  const hooks = bothHooks({ sent }, { refused });
  expect(hooks.sent).toBe(sent);
  expect(hooks.refused).toBe(refused);
  expect(hooks.answered).toBeUndefined();
});
