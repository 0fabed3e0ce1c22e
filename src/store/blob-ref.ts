import { toHash } from '../base/brand.ts';
import type { Hash } from '../base/brand.ts';
import { invalid } from '../base/errors.ts';

export type BlobRef =
  | { readonly by: 'hash'; readonly hash: Hash }
  | { readonly by: 'sha256'; readonly sha256: string };

/** Parses the forms that a reference to a blob may take. */
export function parseBlobRef(ref: string): BlobRef {
  const [, scheme = '', hex] = /^(b3:|blob:sha256:)?([0-9a-f]{64})$/.exec(ref) ?? [];
  if (hex !== undefined) {
    return scheme === 'blob:sha256:'
      ? { by: 'sha256', sha256: hex }
      : { by: 'hash', hash: toHash(hex) };
  }
  throw invalid(
    'ref',
    `is 64 lower-case hex digits, alone or after "b3:" or "blob:sha256:", got ${JSON.stringify(ref)}`,
  );
}
