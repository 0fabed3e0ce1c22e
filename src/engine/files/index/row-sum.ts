import { crc32 } from '../../../format/bytes.ts';
import { ShelfDamaged } from './shelf.ts';

/** The checksum a row carries over its other columns. */
export function rowSum(...columns: readonly (number | string | null)[]): number {
  return crc32(Buffer.from(JSON.stringify(columns)));
}

export function assertRowSum(
  table: string,
  sum: number,
  ...columns: readonly (number | string | null)[]
): void {
  if (sum === rowSum(...columns)) return;
  throw new ShelfDamaged(`a row of ${table} has a wrong checksum`);
}
