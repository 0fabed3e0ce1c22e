import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { safeNumber } from '../../test/golden/arbitraries.ts';
import { recordSuite } from '../../test/golden/record-suite.ts';
import { type Checkpoint, decodeCheckpoint, encodeCheckpoint } from './journal-frame.ts';
import { seal } from './bytes.ts';

const CHECKPOINT_HEX =
  '51434b50010000000c000000000000000900000000000000190000007b227365676d656e74223a22' +
  '62222c227475726e73223a347d9be37425';

describe('checkpoint', () => {
  recordSuite<Checkpoint>({
    golden: [
      {
        hex: CHECKPOINT_HEX,
        value: { generation: 12, seq: 9, body: { turns: 4, segment: 'b' } },
      },
    ],
    values: fc.record({
      generation: safeNumber,
      seq: safeNumber,
      // JSON has one zero, so the minus of -0 does not come back.
      body: fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as unknown),
    }),
    encode: encodeCheckpoint,
    decode: decodeCheckpoint,
    trailing: 'allowed',
  });

  it('takes no other magic or version, no reserved byte, and no body that is not JSON', () => {
    for (const offset of [0, 4, 6, 24, 28]) {
      const checkpoint = Buffer.from(CHECKPOINT_HEX, 'hex');
      checkpoint[offset] = 0x7f;
      seal(checkpoint);
      expect(decodeCheckpoint(checkpoint)).toBeUndefined();
    }
  });
});
