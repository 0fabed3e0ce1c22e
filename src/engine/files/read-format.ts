import { QuipuError } from '../../base/errors.ts';
import { decodeFormatFile, STORE_FORMAT } from '../../format/format-file.ts';
import type { FormatFile } from '../../format/format-file.ts';
import { corrupt } from './io-error.ts';
import { FORMAT_FILE } from './names.ts';
import type { StoreFiles } from './store-files.ts';

/** FORMAT is one short line. */
const FORMAT_BYTES_MAX = 4096;

/** What the store says of itself. UNSUPPORTED when it is newer than this code. */
export async function readFormat(files: StoreFiles): Promise<FormatFile> {
  const format = decodeFormatFile(await files.read(FORMAT_FILE, 0, FORMAT_BYTES_MAX));
  if (format === undefined) throw corrupt(FORMAT_FILE, 0, 'the file is damaged');
  if (format.format <= STORE_FORMAT) return format;
  throw new QuipuError(
    'UNSUPPORTED',
    `the store at ${files.root} has format ${format.format}, and this version knows ${STORE_FORMAT}; use a newer quipudb`,
    { what: 'format', found: String(format.format) },
  );
}
