import { QuipuError } from '../../../base/errors.ts';
import { decodeFormatFile, type FormatFile, STORE_FORMAT } from '../../../format/format-file.ts';
import { findCheckpoint } from './checkpoint-file.ts';
import { corrupt } from '../disk/io-error.ts';
import type { StoreFiles } from '../disk/store-files.ts';

export const FORMAT_FILE = 'FORMAT';

/** FORMAT is written once, when the store is made. */
export const FROM_BACKUP = 'copy it from any backup of this store: it never changes';

/** FORMAT is one short line. */
const FORMAT_BYTES_MAX = 4096;

/**
 * Reads the store's description from FORMAT or, when FORMAT is damaged, from its checkpoint. UNSUPPORTED when the
 * store is newer than this code. A folder without FORMAT is no store: an unfinished backup or restore has none.
 */
export async function readFormat(files: StoreFiles): Promise<FormatFile> {
  const found = decodeFormatFile(await files.read(FORMAT_FILE, 0, FORMAT_BYTES_MAX));
  const format = found ?? (await findCheckpoint(files))?.body.store;
  if (format === undefined) throw corrupt(FORMAT_FILE, 0, 'the file is damaged', FROM_BACKUP);
  if (format.format <= STORE_FORMAT) return format;
  throw new QuipuError(
    'UNSUPPORTED',
    `the store at ${files.root} has format ${format.format}, and this version knows ${STORE_FORMAT}; use a newer quipudb`,
    { what: 'format', found: String(format.format) },
  );
}
