import { crc32 } from '../base/crc.ts';

export const CRC_BYTES = 4;

/** Writes the checksum of all bytes before it into the last four. */
export function seal(record: Buffer): void {
  const end = record.length - CRC_BYTES;
  record.writeUInt32LE(crc32(record.subarray(0, end)), end);
}

/** Trusts `record` to have room for a checksum. */
export function isSealed(record: Buffer): boolean {
  const end = record.length - CRC_BYTES;
  return record.readUInt32LE(end) === crc32(record.subarray(0, end));
}
