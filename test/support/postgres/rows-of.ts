import { decompress } from '../../../src/base/compress.ts';
import { BlobCodec } from '../../../src/format/blob-record.ts';
import { runSql } from './run-sql.ts';

/** Every value of every row of the store at `url`, and the parts of blobs as they were before they were compressed. */
export async function rowsOf(url: string): Promise<[where: string, bytes: Uint8Array][]> {
  const found: [string, Uint8Array][] = [];
  const tables = await runSql(
    url,
    'SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema',
  );
  for (const { name } of tables) {
    for (const row of await runSql(url, `SELECT * FROM ${String(name)}`)) {
      for (const value of Object.values(row)) {
        found.push([
          String(name),
          value instanceof Uint8Array ? value : Buffer.from(String(value)),
        ]);
      }
      const { codec, bytes, size } = row;
      if (codec === BlobCodec.zstd && bytes instanceof Uint8Array) {
        found.push([String(name), decompress(bytes, Number(size))]);
      }
    }
  }
  return found;
}
