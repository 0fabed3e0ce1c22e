import { expect, it } from 'vitest';
import { AppendFlag, MessageType, PageFlag, countingFlags } from './message-type.ts';

const ALL = 0xffff;

it('takes from clients of cxdb the one bit that cxdb has', () => {
  expect(countingFlags(MessageType.APPEND_TURN, ALL, false)).toBe(AppendFlag.HAS_FS_ROOT);
  for (const type of [MessageType.HELLO, MessageType.GET_LAST, MessageType.GET_BLOB]) {
    expect(countingFlags(type, ALL, false)).toBe(0);
  }
});

it('takes the known bits from who knows Quipu', () => {
  expect(countingFlags(MessageType.APPEND_TURN, ALL, true)).toBe(15);
  expect(countingFlags(MessageType.GET_RANGE_BY_DEPTH, ALL, true)).toBe(60);
  expect(countingFlags(MessageType.GET_LAST, PageFlag.WANT_OPEN, true)).toBe(PageFlag.WANT_OPEN);
  expect(countingFlags(MessageType.GET_HEAD, ALL, true)).toBe(0);
});

it('refuses unknown bits on types of Quipu alone', () => {
  const { APPEND_BATCH, SEAL, CALL } = MessageType;
  expect(countingFlags(APPEND_BATCH, AppendFlag.EXPECT_HEAD, false)).toBe(AppendFlag.EXPECT_HEAD);
  expect(countingFlags(SEAL, 0, false)).toBe(0);
  for (const [type, flags] of [
    [APPEND_BATCH, AppendFlag.HAS_FS_ROOT],
    [SEAL, 1],
    [CALL, 0x8000],
  ] as const) {
    expect(() => countingFlags(type, flags, true)).toThrow(
      expect.objectContaining({ code: 'INVALID', data: { what: 'flags' } }),
    );
  }
});
