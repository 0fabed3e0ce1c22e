import type { Hash } from '../../base/brand.ts';
import { isQuipuError, notFound } from '../../base/errors.ts';
import type { Engine } from '../../engine/engine.ts';
import { damaged, parseNode } from './node-text.ts';
import type { ContentNode, StartNode, StateNode, WorkflowNode } from './nodes.ts';

/** The part of a store that reading nodes needs. */
export type BlobReader = Pick<Engine, 'viewBlob'>;

/** Throws NOT_FOUND or CORRUPT with the hash, and never returns an invalid node. */
async function readNode(blobs: BlobReader, hash: Hash): Promise<WorkflowNode> {
  const bytes = await blobs.viewBlob(hash);
  if (bytes !== undefined) return parseNode(hash, bytes);
  throw notFound('node', hash, `there is no workflow node ${hash}`);
}

export async function readStart(blobs: BlobReader, hash: Hash): Promise<StartNode> {
  const node = await readNode(blobs, hash);
  if (node.type === 'start') return node;
  throw damaged(hash, `a start was expected and a ${node.type} found`);
}

export async function readState(blobs: BlobReader, hash: Hash): Promise<StateNode> {
  const node = await readNode(blobs, hash);
  if (node.type === 'state') return node;
  throw damaged(hash, `a state was expected and a ${node.type} found`);
}

export async function readContent(blobs: BlobReader, hash: Hash): Promise<ContentNode> {
  const node = await readNode(blobs, hash);
  if (node.type === 'content') return node;
  throw damaged(hash, `a content was expected and a ${node.type} found`);
}

/** Reads a blob of text that a node names: a prompt or a summary. */
export async function readText(blobs: BlobReader, hash: Hash, what: string): Promise<string> {
  const bytes = await blobs.viewBlob(hash);
  if (bytes === undefined) {
    throw notFound(what, hash, `there is no ${what} ${hash}`);
  }
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
}

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
    throw notFound('blob', hash, `there is no blob ${hash}`);
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
function refsOf(node: WorkflowNode): readonly Hash[] {
  const refs = (node.refs as readonly (Hash | null)[]).filter((ref) => ref !== null);
  const compact = node.type === 'state' ? node.payload.compact : undefined;
  return compact ? [...refs, compact] : refs;
}
