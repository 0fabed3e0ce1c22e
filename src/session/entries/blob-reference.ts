import { sha256Hex } from '../../base/hash.ts';

const PREFIX = 'blob:sha256:';

/** Returns the SHA-256 in a reference of exactly this shape; anything else is ordinary text. */
export function parseBlobReference(text: string): string | undefined {
  return /^blob:sha256:([0-9a-f]{64})$/.exec(text.endsWith('\n') ? '' : text)?.[1];
}

/** Returns true for a text that looks like a reference and is malformed. */
export function isMalformedReference(text: string): boolean {
  return text.startsWith(PREFIX) && parseBlobReference(text) === undefined;
}

export function toBlobReference(sha256: string): string {
  return PREFIX + sha256;
}

/** Bytes that an entry refers to. */
export interface BlobToPut {
  readonly sha256: string;
  readonly bytes: Uint8Array;
}

export function toBlobToPut(bytes: Uint8Array): BlobToPut {
  return { sha256: sha256Hex(bytes), bytes };
}
