import type { Hash } from '../../base/brand.ts';
import { QuipuError } from '../../base/errors.ts';
import type { Engine } from '../../engine/engine.ts';
import type { ContentNode, StartNode, StateNode, WorkflowNode } from './nodes.ts';
import { damaged, parseNode } from './parse-node.ts';

/** The part of a store that reading nodes needs. */
export type BlobReader = Pick<Engine, 'viewBlob'>;

/** Throws NOT_FOUND or CORRUPT with the hash, and never returns an invalid node. */
export async function readNode(blobs: BlobReader, hash: Hash): Promise<WorkflowNode> {
  const bytes = await blobs.viewBlob(hash);
  if (bytes !== undefined) return parseNode(hash, bytes);
  throw new QuipuError('NOT_FOUND', `there is no workflow node ${hash}`, {
    what: 'node',
    id: hash,
  });
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
    throw new QuipuError('NOT_FOUND', `there is no ${what} ${hash}`, { what, id: hash });
  }
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
}
