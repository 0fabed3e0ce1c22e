import { crc32Between } from '../base/crc.ts';

export const CRC_BYTES = 4;

/** Writes the checksum of all bytes of a record before it into its last four. */
export function seal(buffer: Buffer, start = 0, end: number = buffer.length): void {
  const at = end - CRC_BYTES;
  buffer.writeUInt32LE(crc32Between(buffer, start, at), at);
}

/** Trusts `record` to have room for a checksum. */
export function isSealed(record: Buffer): boolean {
  const end = record.length - CRC_BYTES;
  return record.readUInt32LE(end) === crc32Between(record, 0, end);
}
