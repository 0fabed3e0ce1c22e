import { decodeDocRecord, type DocRecord } from '../../../format/doc-record.ts';
import { corrupt } from '../io-error.ts';
import { DOCS_FILE } from '../names.ts';
import type { StoreFiles } from '../store-files.ts';

export interface DocPlace {
  readonly offset: number;
  readonly length: number;
  readonly version: number;
  readonly removed: boolean;
}

export async function readDoc(
  files: StoreFiles,
  name: string,
  place: DocPlace,
): Promise<DocRecord> {
  const record = decodeDocRecord(await files.read(DOCS_FILE, place.offset, place.length));
  if (record !== undefined && record.name === name && record.version === place.version)
    return record;
  throw corrupt(DOCS_FILE, place.offset, `version ${place.version} of document ${name} is damaged`);
}
