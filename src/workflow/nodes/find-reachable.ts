import type { Hash } from '../../base/brand.ts';
import { QuipuError, isQuipuError } from '../../base/errors.ts';
import type { WorkflowNode } from './nodes.ts';
import type { BlobReader } from './node-reader.ts';
import { parseNode } from './parse-node.ts';

/** The number of nodes read side by side. */
const AT_ONCE = 64;

/**
 * Returns every hash that these lead to, themselves included, over `refs` and `compact`. A blob that is not a node (a
 * prompt, a summary, an artifact) is an end. Throws NOT_FOUND with the hash of a missing blob: a blob that cannot be
 * read might have led further.
 */
export async function findReachableHashes(
  blobs: BlobReader,
  roots: Iterable<Hash>,
): Promise<Set<Hash>> {
  const reached = new Set<Hash>(roots);
  const pending = [...reached];
  while (pending.length > 0) {
    const now = pending.splice(0, AT_ONCE);
    const found = await Promise.all(now.map((hash) => edgesOf(blobs, hash)));
    for (const hash of found.flat()) {
      if (reached.has(hash)) continue;
      reached.add(hash);
      pending.push(hash);
    }
  }
  return reached;
}

async function edgesOf(blobs: BlobReader, hash: Hash): Promise<readonly Hash[]> {
  const bytes = await blobs.viewBlob(hash);
  if (bytes === undefined) {
    throw new QuipuError('NOT_FOUND', `there is no blob ${hash}`, { what: 'blob', id: hash });
  }
  if (bytes[0] !== '{'.charCodeAt(0)) return [];
  try {
    return refsOf(parseNode(hash, bytes));
  } catch (error) {
    if (isQuipuError(error, 'CORRUPT')) return [];
    throw error;
  }
}

/** Every blob that a node needs. */
export function refsOf(node: WorkflowNode): readonly Hash[] {
  const refs = (node.refs as readonly (Hash | null)[]).filter((ref) => ref !== null);
  const compact = node.type === 'state' ? node.payload.compact : undefined;
  return compact ? [...refs, compact] : refs;
}
