import { ERASURES_LOG } from '../../names.ts';
import type { PreparedBatch } from '../../plan/planned.ts';

/** What a batch may bring with it: the reason of a tombstone, a line in a list of what was erased. */
const LITTLE_BYTES = 64 * 1024;

/** Whether a batch takes something away, and brings little: on a full disk it may use the reserve. */
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
