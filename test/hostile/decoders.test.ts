import { decode } from '@msgpack/msgpack';
import { getHeapStatistics } from 'node:v8';
import { describe, expect, it } from 'vitest';
import { Random } from '../wire/random.ts';
import { claimed, DECODERS } from './decoders.ts';
import type { Decode } from './decoders.ts';

// Invariant: whatever the bytes say, a decoder gives a value or throws, and takes memory in proportion to the bytes
// that are there, not to the lengths that they claim.
// Method: bytes put together from what decoders allocate by; the memory in use is measured around each of them.

const SEED = 20_261;
const INPUTS = 500;
const INPUT_BYTES = 64 * 1024;
/** The worst that is right is JSON or MessagePack of empty objects: about 64 bytes for each of theirs. */
const GROWN_BYTES = 12 * 1024 * 1024;

/** Openings and claims: what is repeated, and how often, is up to chance. */
const PIECES = [
  Buffer.from('dd000f4240', 'hex'),
  Buffer.from('ddffffffff', 'hex'),
  Buffer.from('df00ffffff', 'hex'),
  Buffer.from('dbffffffff', 'hex'),
  Buffer.from('91', 'hex'),
  Buffer.from('81a161', 'hex'),
  Buffer.from('ffffff3f', 'hex'),
  Buffer.from('28b52ffd', 'hex'),
  Buffer.from('['),
  Buffer.from('{"a":'),
  Buffer.from('{"refs":['),
  Buffer.from('{},'),
  Buffer.from('"\\"'),
  Buffer.from('{"$n":"9"}'),
  Buffer.alloc(4),
] as const;

function hostileBytes(random: Random): Buffer {
  const parts: Buffer[] = [];
  const kinds = 1 + random.below(3);
  for (let at = 0; at < kinds; at += 1) {
    const piece = random.below(5) === 0 ? random.bytes(1 + random.below(64)) : random.pick(PIECES);
    const most = random.below(8) === 0 ? INPUT_BYTES / kinds / piece.length : 200;
    parts.push(...Array.from({ length: 1 + random.below(most) }, () => piece));
  }
  return Buffer.concat(parts).subarray(0, INPUT_BYTES);
}

function memoryInUse(): number {
  const { used_heap_size: heap, external_memory: external } = getHeapStatistics();
  return heap + external;
}

/** What the most expensive of the inputs took; the inputs depend on the seed alone. */
function worstGrowth(decoder: Decode): number {
  const random = new Random(SEED);
  let worst = 0;
  for (let number = 0; number < INPUTS; number += 1) {
    const bytes = hostileBytes(random);
    const before = memoryInUse();
    try {
      decoder(bytes);
    } catch {
      // Most of them are refused; how is for the tests of each decoder.
    }
    worst = Math.max(worst, memoryInUse() - before);
  }
  return worst;
}

describe('hostile bytes', () => {
  it.each(Object.entries(DECODERS))('cost %s little memory', (_, decoder) => {
    expect(worstGrowth(decoder)).toBeLessThan(GROWN_BYTES);
  });

  const CARELESS: Readonly<Record<string, Decode>> = {
    'MessagePack without bounds': (bytes) => decode(bytes.subarray(0, 20)),
    'a claim that is believed': (bytes) => Buffer.allocUnsafe(Math.min(claimed(bytes), 1 << 28)),
    'JSON without bounds': (bytes) => JSON.parse(`[${'[],'.repeat(8 * bytes.length)}0]`) as unknown,
  };
  it.each(Object.entries(CARELESS))('are seen to cost %s much', (_, decoder) => {
    expect(worstGrowth(decoder)).toBeGreaterThan(GROWN_BYTES);
  });
});
