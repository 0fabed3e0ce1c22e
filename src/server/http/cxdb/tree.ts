import type { Hash } from '../../../base/brand.ts';
import { type QuipuError, invalid, notFound, tooLarge } from '../../../base/errors.ts';
import { HASH_BYTES, bytesToHash } from '../../../base/hash.ts';
import { decodeMsgpack } from '../../../context/payloads/msgpack.ts';
import type { Engine } from '../../../engine/engine.ts';

// A folder of a snapshot is a blob: MessagePack, an array of maps with the keys 1 to 5, as numbers or as text.
//
// 1 name    text
// 2 kind    0 file, 1 folder, 2 symbolic link
// 3 mode    bits of POSIX
// 4 size    bytes of a file
// 5 hash    32 bytes: of the content, of the folder's own tree, or of the link's target
//
// Clients write these blobs, so nothing in them is trusted: names lead to no file of this machine, and a tree is
// measured before it is decoded.

const KINDS = ['file', 'dir', 'symlink'] as const;
/** About 100,000 entries. */
const TREE_BYTES_MAX = 8 * 1024 * 1024;
const PATH_PARTS_MAX = 256;

export interface TreeEntry {
  readonly name: string;
  readonly kind: (typeof KINDS)[number];
  readonly mode: number;
  readonly size: number;
  readonly hash: Hash;
}

/** Throws INVALID for bytes that are not a tree. */
export function parseTree(bytes: Uint8Array): readonly TreeEntry[] {
  const value = decode(bytes);
  if (!Array.isArray(value)) throw noTree();
  return value.map(toEntry);
}

function decode(bytes: Uint8Array): unknown {
  try {
    return decodeMsgpack(bytes);
  } catch {
    throw noTree();
  }
}

function toEntry(value: unknown): TreeEntry {
  if (typeof value !== 'object' || value === null) throw noTree();
  const fields = value as Readonly<Record<string, unknown>>;
  const { 1: name, 2: kind = 0, 3: mode = 0, 4: size = 0, 5: hash } = fields;
  const isHash = hash instanceof Uint8Array && hash.length === HASH_BYTES;
  if (typeof name !== 'string' || !isHash) throw noTree();
  return {
    name,
    kind: KINDS[Number(kind)] ?? 'file',
    mode: toCount(mode),
    size: toCount(size),
    hash: bytesToHash(hash),
  };
}

function toCount(value: unknown): number {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : 0;
}

/** The parts of a path in a snapshot. Throws INVALID for one that would lead up. */
export function toParts(path: string): readonly string[] {
  const parts = path.split('/').filter((part) => part !== '' && part !== '.');
  if (parts.includes('..'))
    throw invalid('path', 'has "..", and a snapshot has nothing above its root');
  if (parts.some((part) => part.includes('\0'))) throw invalid('path', 'has a zero in it');
  if (parts.length > PATH_PARTS_MAX)
    throw invalid('path', `has more than ${PATH_PARTS_MAX} levels`);
  return parts;
}

/** The entry at a path; undefined for the root itself. NOT_FOUND when there is none. */
export async function findEntry(
  engine: Engine,
  root: Hash,
  parts: readonly string[],
): Promise<TreeEntry | undefined> {
  let found: TreeEntry | undefined;
  for (const part of parts) {
    if (found !== undefined && found.kind !== 'dir') {
      throw invalid('path', `goes on after ${JSON.stringify(found.name)}, which is no folder`);
    }
    const entries = await readTree(engine, found?.hash ?? root);
    found = entries.find(({ name }) => name === part);
    if (found === undefined) throw nothingAt(parts.join('/'));
  }
  return found;
}

export async function readTree(engine: Engine, hash: Hash): Promise<readonly TreeEntry[]> {
  const stat = await engine.statBlob(hash);
  if (stat === undefined) throw notFound('blob', hash, `there is no tree ${hash}`);
  if (stat.size > TREE_BYTES_MAX) {
    const message = `the tree ${hash} has ${stat.size} bytes, and ${TREE_BYTES_MAX} is the most`;
    throw tooLarge('tree', TREE_BYTES_MAX, stat.size, message);
  }
  const bytes = await engine.viewBlob(hash);
  if (bytes === undefined) throw notFound('blob', hash, `tree ${hash} is gone`);
  return parseTree(bytes);
}

function nothingAt(path: string): QuipuError<'NOT_FOUND'> {
  const shown = path.slice(0, 200);
  return notFound('path', shown, `the snapshot has nothing at ${shown}`);
}

function noTree(): QuipuError<'INVALID'> {
  return invalid('tree', 'is not a list of files and folders in MessagePack');
}
