/** Payloads up to this size share an allocation: a larger one is worth its own. */
const SHARED_BYTES_MAX = 16 * 1024;
/**
 * Room for six payloads of 10 KB in each allocation. A turn that a caller keeps holds on to this much at most, and V8
 * counts, collects and frees one buffer where it had six: with 64 writers that was a tenth of their time.
 */
const ROOM_BYTES = 64 * 1024;

let room: ArrayBufferLike = new ArrayBuffer(0);
let used = 0;

/** Returns a copy of `bytes` that nobody else can write to. For reading only: its buffer holds others, too. */
export function keepBytes(bytes: Uint8Array): Uint8Array {
  const { length } = bytes;
  if (length > SHARED_BYTES_MAX) return new Uint8Array(bytes);
  if (used + length > room.byteLength) {
    // The memory is not zeroed: every byte is written before anyone reads it.
    room = Buffer.allocUnsafeSlow(ROOM_BYTES).buffer;
    used = 0;
  }
  const kept = new Uint8Array(room, used, length);
  kept.set(bytes);
  used += length;
  return kept;
}
