import { ERASURES_LOG } from '../../names.ts';
import type { PreparedBatch } from '../../plan/planned.ts';

/** The bytes that such a batch may add: the reason of a tombstone, or a line in the list of erased blobs. */
const LITTLE_BYTES = 64 * 1024;

/** Whether a batch removes something and adds little. On a full disk such a batch may use the reserve. */
export function makesRoom({ rest, blobs, extents }: PreparedBatch): boolean {
  const { contexts = [], logs = [], docs = [], patches = [] } = rest;
  const { turns = [], opens = [], deltas = [], seals = [] } = rest;
  const adds = turns.length + opens.length + deltas.length + seals.length + extents.length;
  if (adds > 0) return false;
  const brought = blobs.reduce((bytes, { squeezed }) => bytes + squeezed.rawLength, 0);
  if (brought > LITTLE_BYTES) return false;
  return (
    contexts.some((change) => change.do === 'remove') ||
    logs.some((change) => change.do === 'remove' || change.name === ERASURES_LOG) ||
    docs.some(({ content }) => content === undefined) ||
    patches.some(({ tombstone }) => tombstone)
  );
}
