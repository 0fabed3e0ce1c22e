import {
  applyDocDifference,
  decodeDocDifference,
  type DocDifference,
} from '../../../format/doc-difference.ts';
import { decodeDocRecord, type DocRecord } from '../../../format/doc-record.ts';
import { corrupt } from '../disk/io-error.ts';
import type { StoreFiles } from '../disk/store-files.ts';

export const DOCS_FILE = 'docs/docs.log';

/** Documents that the engine keeps for contexts. Users cannot name them. */
export function contextDoc(context: number): string {
  return `contexts/${context}`;
}

export interface DocPlace {
  readonly offset: number;
  readonly length: number;
  readonly version: number;
  readonly removed: boolean;
}

/** The newest version of a document with its whole content. */
export async function readDoc(
  files: Pick<StoreFiles, 'read'>,
  name: string,
  place: DocPlace,
): Promise<DocRecord> {
  const record = decodeDocRecord(await files.read(DOCS_FILE, place.offset, place.length));
  if (record !== undefined && record.name === name && record.version === place.version) {
    return readWhole(files, record, place.offset);
  }
  throw corrupt(DOCS_FILE, place.offset, `version ${place.version} of document ${name} is damaged`);
}

/** The same record with its whole content, assembled from all its parts. */
export async function readWhole(
  files: Pick<StoreFiles, 'read'>,
  record: DocRecord,
  offset: number,
): Promise<DocRecord> {
  const { difference: _, ...newest } = record;
  const differences: DocDifference[] = [];
  let at = offset;
  let part: DocRecord | undefined = record;
  while (part?.difference === true) {
    const difference = decodeDocDifference(part.content ?? '');
    // A difference builds on an earlier record, so the way back has an end.
    if (difference === undefined || difference.offset >= at) throw lost(record, at);
    differences.push(difference);
    at = difference.offset;
    part = decodeDocRecord(await files.read(DOCS_FILE, at, difference.length));
    if (part?.name !== record.name) throw lost(record, at);
  }
  let content = part?.content;
  for (const difference of differences.reverse()) {
    content = content === undefined ? undefined : applyDocDifference(content, difference);
  }
  if (content === undefined && differences.length > 0) throw lost(record, at);
  return { ...newest, content };
}

function lost({ name, version }: DocRecord, offset: number): Error {
  const what = `version ${version} of document ${name} stands on a record that is damaged`;
  return corrupt(DOCS_FILE, offset, what);
}
