import { canonicalJson } from '../../base/canonical-json.ts';
import { QuipuError } from '../../base/errors.ts';
import { hashBytes } from '../../base/hash.ts';
import { encodeUtf8 } from '../../base/utf8.ts';
import type { BlobPut } from '../../engine/batch.ts';
import { NODE_BYTES_MAX } from '../limits.ts';
import type { WorkflowNode } from './nodes.ts';

/** Equal nodes are one blob, whichever process writes them. */
export function encodeNode(node: WorkflowNode): BlobPut {
  const bytes = encodeUtf8(canonicalJson(node));
  if (bytes.length <= NODE_BYTES_MAX) return { hash: hashBytes(bytes), bytes };
  const what = `${node.type} node`;
  throw new QuipuError(
    'TOO_LARGE',
    `a ${what} has ${bytes.length} bytes, the most is ${NODE_BYTES_MAX}`,
    {
      what,
      limit: NODE_BYTES_MAX,
      size: bytes.length,
    },
  );
}

export function encodeText(text: string): BlobPut {
  const bytes = encodeUtf8(text);
  return { hash: hashBytes(bytes), bytes };
}
