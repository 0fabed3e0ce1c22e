import type { Hash } from '../../base/brand.ts';
import type { StateAt, StateNode } from '../nodes/nodes.ts';
import { readState } from '../nodes/node-reader.ts';
import type { BlobReader } from '../nodes/node-reader.ts';
import { damaged } from '../nodes/parse-node.ts';
import { linksOf } from './plan-step.ts';

export interface WalkBounds {
  readonly limit?: number;
  /** The walk ends with this state: nothing before it is read. */
  readonly until?: Hash | undefined;
}

/**
 * Yields `from` and the states before it, newest first. One read shows the names of the eleven before it, and these are
 * read side by side: the last twenty steps take three rounds, whatever the length of the thread. Each yield is one
 * round.
 */
export async function* walkSteps(
  blobs: BlobReader,
  from: Hash,
  { limit = Infinity, until }: WalkBounds = {},
): AsyncGenerator<readonly StateAt[], void, undefined> {
  let newest: StateAt = { hash: from, node: await readState(blobs, from) };
  let left = limit - 1;
  yield [newest];
  while (left > 0 && newest.hash !== until) {
    const states = await readLinks(blobs, newest, left, until);
    const last = states.at(-1);
    if (last === undefined) return;
    yield states;
    left -= states.length;
    newest = last;
  }
}

async function readLinks(
  blobs: BlobReader,
  { hash, node }: StateAt,
  limit: number,
  until: Hash | undefined,
): Promise<readonly StateAt[]> {
  const known = linksOf(node);
  const end = until === undefined ? -1 : known.indexOf(until);
  const wanted = known.slice(0, Math.min(limit, end === -1 ? known.length : end + 1));
  const states = await Promise.all(
    wanted.map(async (link) => ({ hash: link, node: await readState(blobs, link) })),
  );
  checkLinks(hash, node, states);
  return states;
}

/** The skip list is a promise about the chain, and every use checks it. */
function checkLinks(hash: Hash, node: StateNode, states: readonly StateAt[]): void {
  for (const [at, state] of states.entries()) {
    if (state.node.refs[0] !== node.refs[0]) {
      throw damaged(hash, `leads to ${state.hash}, which belongs to another start`);
    }
    const next = states[at + 1];
    if (next !== undefined && state.node.refs[1] !== next.hash) {
      throw damaged(hash, `lists ${next.hash} where its chain has ${state.node.refs[1]}`);
    }
  }
}

/** Returns all states in one array, newest first. */
export async function readStates(
  blobs: BlobReader,
  from: Hash,
  bounds: WalkBounds = {},
): Promise<StateAt[]> {
  const states: StateAt[] = [];
  for await (const round of walkSteps(blobs, from, bounds)) states.push(...round);
  return states;
}
