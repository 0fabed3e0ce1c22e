import { expect, it } from 'vitest';
import { TurnFlag } from './turn-record.ts';

it('keeps the bits of version 1', () => {
  expect(TurnFlag).toEqual({
    OPEN: 1,
    ABORTED: 2,
    INTERRUPTED: 4,
    PATCHED: 8,
    TOMBSTONE: 16,
    FS_ROOT: 32,
    PARENT_GIVEN: 1 << 16,
    CONTINUES: 1 << 17,
  });
});
