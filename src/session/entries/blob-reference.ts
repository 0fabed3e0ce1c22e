import { sha256Hex } from '../../base/hash.ts';
import type { IoFile } from '../../engine/io.ts';

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

const SCAN_BYTES = 1024 * 1024;
/** The longest form of a reference: every character as a JSON escape. */
const REFERENCE_BYTES_MAX = 6 * ('blob:sha256:'.length + 64);

/** Returns the SHA-256 of every reference in a text, wherever it stands: keeping too much is harmless. */
export function referencesIn(text: string): string[] {
  const plain = text.includes('\\u00') ? text.replaceAll(/\\u00([2-7][0-9a-f])/gi, unescape) : text;
  return [...plain.matchAll(/blob:sha256:([0-9a-f]{64})/g)].map(([, sha256 = '']) => sha256);
}

function unescape(_: string, code: string): string {
  return String.fromCharCode(Number.parseInt(code, 16));
}

/** Finds references in the bytes from `from` on, also one that begins shortly before. */
export async function scanReferences(
  file: IoFile,
  from = 0,
  to: number = Number.MAX_SAFE_INTEGER,
): Promise<Set<string>> {
  const found = new Set<string>();
  const size = Math.min(to, await file.size());
  for (let at = Math.max(0, from - REFERENCE_BYTES_MAX); at < size; at += SCAN_BYTES) {
    // A piece is a little longer than the step, for a reference that lies across its end.
    const piece = Buffer.allocUnsafe(Math.min(SCAN_BYTES + REFERENCE_BYTES_MAX, size - at));
    const got = await file.read(piece, at);
    for (const sha256 of referencesIn(piece.toString('latin1', 0, got))) found.add(sha256);
  }
  return found;
}
