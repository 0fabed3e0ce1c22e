import type { Hash } from '../../base/brand.ts';
import { invalid, type QuipuError } from '../../base/errors.ts';
import type { WorkflowsHome } from '../home/workflows-home.ts';
import { readStart } from '../nodes/node-reader.ts';
import { COMPACT_ROLE } from '../nodes/nodes.ts';
import { walkSteps } from './walk-steps.ts';

// The rounds of a thread: its steps but for summaries made by hand. No node has their number, so they are counted along
// the chain once, and from then on this process knows the number at each head it has seen or made.

/** Throws INVALID when a thread with this head has used all its rounds. Returns the number it has used. */
export async function assertRoundsLeft(
  home: WorkflowsHome,
  { head, start }: { readonly head: Hash; readonly start: Hash },
): Promise<number> {
  const { maxRounds } = (await readStart(home.engine, start)).payload;
  const used = head === start ? 0 : (home.rounds.get(head) ?? (await countRounds(home, head)));
  if (used >= maxRounds) throw noRounds(maxRounds);
  return used;
}

async function countRounds({ engine }: WorkflowsHome, head: Hash): Promise<number> {
  let rounds = 0;
  for await (const states of walkSteps(engine, head)) {
    rounds += states.filter(({ node }) => node.payload.role !== COMPACT_ROLE).length;
  }
  return rounds;
}

function noRounds(maxRounds: number): QuipuError<'INVALID'> {
  return invalid(
    'step',
    `would be one more than the ${maxRounds} rounds of the thread; end the thread, or start one with a larger maxRounds`,
  );
}
