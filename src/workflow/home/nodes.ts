import { parseBoundedJson } from '../../base/bounded-json.ts';
import type { Hash } from '../../base/brand.ts';
import { canonicalJson } from '../../base/canonical-json.ts';
import { tooLarge, corrupt, isQuipuError, notFound, type QuipuError } from '../../base/errors.ts';
import { hashBytes } from '../../base/hash.ts';
import { encodeUtf8, kindOf } from '../../base/text.ts';
import type { BlobPut } from '../../engine/batch.ts';
import type { Engine } from '../../engine/engine.ts';
import { isHash } from './documents.ts';
import {
  ANCESTORS_MAX,
  DEPTH_MAX,
  ROUNDS_MAX,
  NODE_BYTES_MAX,
  isThreadId,
  type JsonObject,
  type ThreadId,
} from './workflows-home.ts';

// The nodes of a thread: blobs of canonical JSON `{type, payload, refs}`. Nodes never change, and everything they need
// stands in `refs` (and `compact`), so a garbage collection follows these alone.

/** The start of a workflow. This node names no thread: forks share it. */
export interface StartNode {
  readonly type: 'start';
  readonly payload: {
    readonly name: string;
    /** The hash of the bundle that runs the workflow. */
    readonly hash: Hash;
    readonly maxRounds: number;
    /** 0, or one more than the depth of the workflow that called this one. */
    readonly depth: number;
    /** The newest state of the caller when it called. */
    readonly parentState?: Hash;
  };
  /** The prompt, a blob of its own. */
  readonly refs: readonly [prompt: Hash];
}

type StateRefs = readonly [start: Hash, parent: Hash | null, content: Hash, ...ancestors: Hash[]];

export interface StatePayload {
  readonly role: string;
  readonly meta: JsonObject;
  readonly timestamp: number;
  /** A blob with a summary of everything before this step. */
  readonly compact?: Hash | null;
  /** The thread that did this step, when the step was a workflow of its own. */
  readonly childThread?: ThreadId;
}

/** One step. The last one of a finished thread has the role `__end__`. */
export interface StateNode {
  readonly type: 'state';
  readonly payload: StatePayload;
  readonly refs: StateRefs;
}

/** The output of a role, and the artifacts that it made. */
export interface ContentNode {
  readonly type: 'content';
  readonly payload: string;
  readonly refs: readonly Hash[];
}

export type WorkflowNode = StartNode | StateNode | ContentNode;

export const END_ROLE = '__end__';
export const COMPACT_ROLE = '__compact__';

/** A state with its hash. */
export interface StateAt {
  readonly hash: Hash;
  readonly node: StateNode;
}

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

type Check = (value: unknown) => boolean;
type Shape = Readonly<Record<string, { readonly check: Check; readonly optional?: true }>>;

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

/** The part of a store that reading nodes needs. */
export type BlobReader = Pick<Engine, 'viewBlob'>;

/** Throws NOT_FOUND or CORRUPT with the hash, and never returns an invalid node. */
async function readNode<T extends WorkflowNode['type']>(
  blobs: BlobReader,
  hash: Hash,
  type: T,
): Promise<WorkflowNode & { readonly type: T }> {
  const bytes = await blobs.viewBlob(hash);
  if (bytes === undefined) throw notFound('node', hash, `there is no workflow node ${hash}`);
  const node = parseNode(hash, bytes);
  if (node.type === type) return node as WorkflowNode & { readonly type: T };
  throw damaged(hash, `a ${type} was expected and a ${node.type} found`);
}

export function readStart(blobs: BlobReader, hash: Hash): Promise<StartNode> {
  return readNode(blobs, hash, 'start');
}

export function readState(blobs: BlobReader, hash: Hash): Promise<StateNode> {
  return readNode(blobs, hash, 'state');
}

export function readContent(blobs: BlobReader, hash: Hash): Promise<ContentNode> {
  return readNode(blobs, hash, 'content');
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
