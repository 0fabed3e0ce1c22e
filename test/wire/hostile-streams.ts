import type { Random } from './random.ts';

// Streams that no honest peer would send, made from frames that one would.

/** Lengths and counts where mistakes live. */
const EDGES = [0, 1, 2, 3, 16, 255, 256, 1024, 1025, 65_535, 65_536, 65_537, 0x7fff_ffff] as const;
const LAST_EDGES = [0x8000_0000, 0xffff_fffe, 0xffff_ffff, 67_104_769, 67_108_865] as const;
/** In a call, a change of one byte to one of these often gives JSON again, with another meaning. */
const JSON_BYTES: readonly number[] = [...Buffer.from('0123459{}[]",:$-\\nbuf')];
const ALL_EDGES: readonly number[] = [...EDGES, ...LAST_EDGES];

export function hostileStream(random: Random, frames: readonly Buffer[]): Buffer {
  switch (random.below(8)) {
    case 0:
      return randomFrames(random);
    case 1:
      return truncated(random, random.pick(frames));
    case 2:
      return interleaved(random, random.pick(frames), random.pick(frames));
    case 3:
      return retyped(random, random.pick(frames), random.pick(frames));
    case 4:
      return Buffer.concat([random.pick(frames), mutated(random, random.pick(frames), 1)]);
    default:
      return mutated(random, random.pick(frames), 1 + random.below(4));
  }
}

/** Bytes that mean nothing, half of them behind a header that fits. */
function randomFrames(random: Random): Buffer {
  const bytes = random.bytes(random.below(160));
  if (bytes.length < 16 || random.below(2) === 0) return bytes;
  bytes.writeUInt32LE(random.below(bytes.length), 0);
  bytes.writeUInt16LE(random.below(42), 4);
  return bytes;
}

function truncated(random: Random, frame: Buffer): Buffer {
  return frame.subarray(0, random.below(frame.length));
}

/** One frame in the middle of another. */
function interleaved(random: Random, outer: Buffer, inner: Buffer): Buffer {
  const at = random.below(outer.length);
  return Buffer.concat([outer.subarray(0, at), inner, outer.subarray(at)]);
}

/** A good payload under the type and the flags of another frame. */
function retyped(random: Random, frame: Buffer, other: Buffer): Buffer {
  const copy = Buffer.from(frame);
  other.copy(copy, 4, 4, 8);
  if (random.below(2) === 0) copy.writeUInt16LE(random.below(64), 6);
  return copy;
}

function mutated(random: Random, frame: Buffer, times: number): Buffer {
  let bytes: Buffer = Buffer.from(frame);
  for (let time = 0; time < times; time += 1) bytes = mutate(random, bytes);
  // Mostly the payload keeps the length that the header says, so that decoders get to see it.
  if (bytes.length >= 16 && random.below(8) !== 0) bytes.writeUInt32LE(bytes.length - 16, 0);
  return bytes;
}

function mutate(random: Random, bytes: Buffer): Buffer {
  if (bytes.length === 0) return random.bytes(20);
  const at = random.below(bytes.length);
  const length = random.below(Math.min(40, bytes.length - at) + 1);
  switch (random.below(7)) {
    case 0:
      bytes[at] = bytes[at]! ^ (1 << random.below(8));
      return bytes;
    case 1:
      bytes[at] = random.u32();
      return bytes;
    case 2:
      if (at + 4 <= bytes.length) bytes.writeUInt32LE(edge(random, bytes.length), at);
      return bytes;
    case 3:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + length)]);
    case 4:
      return Buffer.concat([bytes.subarray(0, at), random.bytes(length), bytes.subarray(at)]);
    case 5:
      bytes[at] = random.pick(JSON_BYTES);
      return bytes;
    default:
      return Buffer.concat([bytes.subarray(0, at + length), bytes.subarray(at)]);
  }
}

function edge(random: Random, length: number): number {
  return random.below(2) === 0 ? random.pick(ALL_EDGES) : random.below(length + 4);
}
