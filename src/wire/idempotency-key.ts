import type { ByteReader } from './byte-reader.ts';
import type { ByteWriter } from './byte-writer.ts';
import { NAME_BYTES_MAX } from './limits.ts';

// u32 key_len, key. No bytes mean no key.

export function writeKey(writer: ByteWriter, key: Uint8Array | undefined): void {
  if (key === undefined) writer.u32(0);
  else writer.sized32(key);
}

export function readKey(reader: ByteReader): Uint8Array | undefined {
  const length = reader.length32('idempotency', NAME_BYTES_MAX);
  return length === 0 ? undefined : reader.bytes(length, 'idempotency_key');
}
