import { parseBoundedJson } from '../../base/bounded-json.ts';
import type { Hash } from '../../base/brand.ts';
import { canonicalJson } from '../../base/canonical-json.ts';
import { tooLarge, corrupt, type QuipuError } from '../../base/errors.ts';
import { hashBytes } from '../../base/hash.ts';
import { encodeUtf8, kindOf } from '../../base/text.ts';
import type { BlobPut } from '../../engine/batch.ts';
import { ANCESTORS_MAX, DEPTH_MAX, ROUNDS_MAX, NODE_BYTES_MAX } from '../home/limits.ts';
import { isThreadId } from '../home/workflows-home.ts';
import type { ContentNode, StartNode, StateNode, WorkflowNode } from './nodes.ts';

/** Equal nodes are one blob, whichever process writes them. */
export function encodeNode(node: WorkflowNode): BlobPut {
  const bytes = encodeUtf8(canonicalJson(node));
  if (bytes.length <= NODE_BYTES_MAX) return { hash: hashBytes(bytes), bytes };
  const what = `${node.type} node`;
  throw tooLarge(
    what,
    NODE_BYTES_MAX,
    bytes.length,
    `a ${what} has ${bytes.length} bytes, the most is ${NODE_BYTES_MAX}`,
  );
}

export function encodeText(text: string): BlobPut {
  const bytes = encodeUtf8(text);
  return { hash: hashBytes(bytes), bytes };
}

const HASH = /^[0-9a-f]{64}$/;

type Check = (value: unknown) => boolean;
type Shape = Readonly<Record<string, { readonly check: Check; readonly optional?: true }>>;

const isHash: Check = (value) => typeof value === 'string' && HASH.test(value);
const isText: Check = (value) => typeof value === 'string';
const isName: Check = (value) => typeof value === 'string' && value !== '';
const isObject: Check = (value) => kindOf(value) === 'object';
const isCount =
  (max: number): Check =>
  (value) =>
    Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= max;
const isTime = isCount(Number.MAX_SAFE_INTEGER);

const NODE: Shape = {
  type: { check: isText },
  payload: { check: () => true },
  refs: { check: Array.isArray },
};
const START: Shape = {
  name: { check: isName },
  hash: { check: isHash },
  maxRounds: { check: isCount(ROUNDS_MAX) },
  depth: { check: isCount(DEPTH_MAX) },
  parentState: { check: isHash, optional: true },
};
const STATE: Shape = {
  role: { check: isName },
  meta: { check: isObject },
  timestamp: { check: isTime },
  compact: { check: (value) => value === null || isHash(value), optional: true },
  childThread: { check: isThreadId, optional: true },
};

/** Returns the node in these bytes, or throws CORRUPT with the hash: a history is never silently shorter. */
export function parseNode(hash: Hash, bytes: Uint8Array): WorkflowNode {
  const node = parseJson(hash, bytes);
  checkShape(hash, 'node', node, NODE);
  const { type, payload, refs } = node as { type: string; payload: unknown; refs: unknown[] };
  switch (type) {
    case 'start':
      checkShape(hash, 'payload', payload, START);
      if (refs.length !== 1 || !isHash(refs[0])) throw damaged(hash, 'refs are not [prompt]');
      return node as StartNode;
    case 'state':
      checkShape(hash, 'payload', payload, STATE);
      checkStateRefs(hash, refs);
      return node as StateNode;
    case 'content':
      if (typeof payload !== 'string') throw damaged(hash, 'payload is not a text');
      if (!refs.every(isHash)) throw damaged(hash, 'refs are not all hashes');
      return node as ContentNode;
    default:
      throw damaged(hash, `type is ${JSON.stringify(type)}`);
  }
}

function checkStateRefs(hash: Hash, refs: readonly unknown[]): void {
  const [start, parent, content, ...ancestors] = refs;
  if (!isHash(start) || !isHash(content) || !(parent === null || isHash(parent))) {
    throw damaged(hash, 'refs do not begin with start, parent and content');
  }
  if (ancestors.length > ANCESTORS_MAX || !ancestors.every(isHash)) {
    throw damaged(hash, `ancestors are not up to ${ANCESTORS_MAX} hashes`);
  }
  if (parent === null && ancestors.length > 0) throw damaged(hash, 'has ancestors and no parent');
}

function parseJson(hash: Hash, bytes: Uint8Array): unknown {
  try {
    return parseBoundedJson(
      Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8'),
    );
  } catch (error) {
    throw damaged(hash, 'is not JSON within the bounds of a value', error);
  }
}

function checkShape(hash: Hash, what: string, value: unknown, shape: Shape): void {
  if (!isObject(value)) throw damaged(hash, `${what} is not an object`);
  const fields = value as Record<string, unknown>;
  for (const name of Object.keys(fields)) {
    if (!Object.hasOwn(shape, name)) throw damaged(hash, `${what} has an unknown field ${name}`);
  }
  for (const [name, { check, optional }] of Object.entries(shape)) {
    const given = fields[name];
    if (given === undefined && optional) continue;
    if (!check(given)) throw damaged(hash, `${what}.${name} is wrong`);
  }
}

export function damaged(hash: Hash, problem: string, cause?: unknown): QuipuError<'CORRUPT'> {
  return corrupt(`blob ${hash}`, `workflow node ${hash} is damaged: ${problem}`, { cause });
}
