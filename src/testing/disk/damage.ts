import type { Content } from './content.ts';
import type { MemoryIo } from './memory-io.ts';
import { SeededRandom } from './seeded-random.ts';

// The ways in which a disk can damage durable bytes: change them, cut them off, give back old ones. A store may answer
// each damage only with its earlier content, or with an error that names the damage.

export interface Damage {
  readonly path: string;
  /** Such as `turns/turns.log: byte 17 xor 0x04`. */
  readonly what: string;
  /** Position of the first byte that is different or missing. */
  readonly offset: number;
  readonly disk: MemoryIo;
}

export interface DamageOptions {
  readonly seed: number;
  /** Selects the files; all by default. */
  readonly only?: (path: string) => boolean;
  /** At most this many damages of a kind in one file, drawn at random when there could be more. */
  readonly perFile?: number;
}

/** Flips one bit, or all bits, in each byte of each file. */
export function* flipBytes(disk: MemoryIo, options: DamageOptions): Generator<Damage> {
  const random = new SeededRandom(options.seed);
  for (const [path, content] of filesOf(disk, options)) {
    for (const offset of draw(content.length, options, random)) {
      const mask = random.chance(0.25) ? 0xff : 1 << random.below(8);
      const byte = new Uint8Array(1);
      content.read(byte, offset);
      byte[0] = (byte[0] ?? 0) ^ mask;
      const what = `${path}: byte ${offset} xor 0x${mask.toString(16)}`;
      yield { path, what, offset, disk: disk.copyWith(path, overwritten(content, byte, offset)) };
    }
  }
}

/** Cuts each file to each shorter length. */
export function* cutFiles(disk: MemoryIo, options: DamageOptions): Generator<Damage> {
  const random = new SeededRandom(options.seed);
  for (const [path, content] of filesOf(disk, options)) {
    for (const length of draw(content.length, options, random)) {
      const cut = content.clone();
      cut.resize(length);
      const what = `${path}: cut from ${content.length} to ${length}`;
      yield { path, what, offset: length, disk: disk.copyWith(path, cut) };
    }
  }
}

/**
 * Replaces each aligned chunk of each file by its bytes in `earlier`, a former state of the same disk, where they
 * differ.
 */
export function* restoreStaleChunks(
  disk: MemoryIo,
  earlier: MemoryIo,
  options: DamageOptions & { readonly chunkBytes: number },
): Generator<Damage> {
  const random = new SeededRandom(options.seed);
  const { chunkBytes } = options;
  for (const [path, content] of filesOf(disk, options)) {
    const old = earlier.paths().includes(path) ? earlier.contentOf(path) : undefined;
    if (old === undefined) continue;
    for (const index of draw(Math.ceil(old.length / chunkBytes), options, random)) {
      const offset = index * chunkBytes;
      // The length stays: this is a lost write, not a cut.
      const now = chunkAt(content, offset, chunkBytes);
      const stale = chunkAt(old, offset, chunkBytes).subarray(0, now.length);
      if (Buffer.compare(stale, now.subarray(0, stale.length)) === 0) continue;
      const what = `${path}: ${stale.length} stale bytes at ${offset}`;
      yield { path, what, offset, disk: disk.copyWith(path, overwritten(content, stale, offset)) };
    }
  }
}

function* filesOf(
  disk: MemoryIo,
  { only = () => true }: DamageOptions,
): Generator<[string, Content]> {
  for (const path of disk.paths()) {
    const content = disk.contentOf(path);
    if (content !== undefined && only(path)) yield [path, content];
  }
}

/** Yields all integers below `count`, or as many of them as the options allow: one from each of equal shares. */
function* draw(
  count: number,
  { perFile = Infinity }: DamageOptions,
  random: SeededRandom,
): Generator<number> {
  const share = Math.max(1, count / perFile);
  for (let start = 0; Math.floor(start) < count; start += share) {
    yield Math.min(count - 1, Math.floor(start + (share === 1 ? 0 : random.below(share))));
  }
}

function overwritten(content: Content, bytes: Uint8Array, offset: number): Content {
  const copy = content.clone();
  copy.write(bytes, offset);
  return copy;
}

function chunkAt(content: Content, offset: number, chunkBytes: number): Uint8Array {
  const chunk = new Uint8Array(Math.max(0, Math.min(chunkBytes, content.length - offset)));
  content.read(chunk, offset);
  return chunk;
}
