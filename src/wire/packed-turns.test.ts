import { describe, expect, it } from 'vitest';
import { inOne } from './call-values.ts';
import { TurnPacker, unpackTurns } from './packed-turns.ts';
import type { PackedPayload, PackedRow } from './packed-turns.ts';

const ROW: PackedRow = {
  id: 2n ** 53n - 1n,
  parent: 0n,
  context: 7n,
  depth: 3,
  type: 'chat.message',
  version: 0xffff_ffff,
  encoding: 1,
  payload: 'ab'.repeat(32),
  size: 2 ** 40,
  flags: 0x8000_0001,
  createdAt: 1_700_000_000_000,
};

type Turn = readonly [PackedRow, PackedPayload];

function travel(turns: readonly Turn[]): Turn[] {
  const packer = new TurnPacker(turns.length);
  for (const [row, payload] of turns) packer.add(row, payload);
  const packed = packer.done();
  const arrived: Turn[] = [];
  unpackTurns({ ...packed, payloads: inOne(packed.payloads) }, (row, payload) => {
    arrived.push([row, payload]);
  });
  return arrived;
}

describe('the turns of a page', () => {
  it('come back as they were', () => {
    const turns: Turn[] = [
      [ROW, Uint8Array.of(1, 2, 3)],
      [{ ...ROW, id: 2n, type: 'ünï "quoted"' }, undefined],
      [{ ...ROW, id: 3n, payload: undefined }, undefined],
      [{ ...ROW, id: 4n }, new Uint8Array()],
      [{ ...ROW, id: 5n, type: '' }, null],
      [{ ...ROW, id: 6n }, Uint8Array.of(4)],
    ];
    expect(travel(turns)).toStrictEqual(turns);
    expect(travel([])).toEqual([]);
  });

  it('are packed and unpacked without a copy of their payloads', () => {
    const payload = Uint8Array.of(1, 2);
    const packer = new TurnPacker(1);
    packer.add(ROW, payload);
    const packed = packer.done();
    expect([...packed.payloads][0]).toBe(payload);

    const payloads = Uint8Array.of(9, 1, 2).subarray(1);
    unpackTurns({ ...packed, payloads }, (_row, cut) => {
      expect(cut?.buffer).toBe(payloads.buffer);
      expect(cut).toEqual(payload);
    });
  });
});
