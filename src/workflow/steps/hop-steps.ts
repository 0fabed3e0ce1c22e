import type { Hash } from '../../base/brand.ts';
import { readState } from '../nodes/node-reader.ts';
import type { BlobReader } from '../nodes/node-reader.ts';
import { damaged } from '../nodes/parse-node.ts';
import { linksOf } from './plan-step.ts';

/**
 * Yields the names of `from` and of all states before it, newest first, of which one in ten is read. A state names
 * eleven: the tenth is read next, and must name the eleventh as its parent. So a skip list which lies about the chain
 * is noticed.
 */
export async function* hopSteps(
  blobs: BlobReader,
  from: Hash,
): AsyncGenerator<readonly Hash[], void, undefined> {
  let node = await readState(blobs, from);
  let hash = from;
  yield [from];
  for (let links = linksOf(node); links.length > 0; links = linksOf(node)) {
    const [next, behind] = links.slice(-2) as [Hash, Hash?];
    const state = await readState(blobs, next);
    if (state.refs[0] !== node.refs[0]) {
      throw damaged(hash, `leads to ${next}, which belongs to another start`);
    }
    if (behind !== undefined && state.refs[1] !== behind) {
      throw damaged(hash, `lists ${behind} where its chain has ${state.refs[1]}`);
    }
    yield behind === undefined ? links : links.slice(0, -1);
    [hash, node] = [next, state];
  }
}
