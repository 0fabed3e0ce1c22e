import { isDeepStrictEqual } from 'node:util';
import type { ConsumerRecord, QueueState } from '../../queue/upkeep/queue-records.ts';
import { type Extent, differs } from './differs.ts';
import type { QueuePair } from './pair.ts';

/** Throws unless the target's queues hold only a beginning of the source's, and could hold all of them. */
export async function compareBeginnings(pair: QueuePair): Promise<void> {
  const { from, to } = pair;
  for (const name of await from.names()) {
    const state = await from.state(name);
    if (state !== undefined) to.assertFits(name, state);
  }
  for (const name of await to.names()) {
    const [here, there] = [await to.state(name), await from.state(name)];
    if (here === undefined) continue;
    const beyond = there === undefined ? 'it' : findBeyond(here, there);
    if (beyond !== undefined)
      throw differs('so far', `the source has not ${beyond} of queue ${name}`);
    await compareEvents(pair, name, { lastId: here.lastId, extent: 'so far' });
  }
}

function findBeyond(here: QueueState, there: QueueState): string | undefined {
  if (here.lastId > there.lastId) return `event ${there.lastId + 1}`;
  const known = new Map(there.consumers.map((consumer) => [consumer.consumer_id, consumer]));
  const beyond = here.consumers.find((consumer) => {
    const other = known.get(consumer.consumer_id);
    return other === undefined || ackedOf(consumer) > ackedOf(other);
  });
  return beyond === undefined ? undefined : `the progress of consumer ${beyond.consumer_id}`;
}

function ackedOf({ progress }: ConsumerRecord): number {
  return progress?.last_acked_id ?? 0;
}

/** Throws unless the target's queue equals the source's as it was when `state` was read. */
export async function compareQueue(
  pair: QueuePair,
  name: string,
  state: QueueState,
): Promise<void> {
  const here = await pair.to.state(name);
  if (!isDeepStrictEqual(here, state)) {
    throw differs('whole', `queue ${name} has other consumers, or another number of events`);
  }
  await compareEvents(pair, name, { lastId: state.lastId, extent: 'whole' });
}

async function compareEvents(
  { from, to, progress, pause }: QueuePair,
  name: string,
  { lastId, extent }: { readonly lastId: number; readonly extent: Extent },
): Promise<void> {
  for (let after = 0; after < lastId;) {
    pause();
    const [here, there] = [await to.events(name, after), await from.events(name, after)];
    // Pages are cut by their content, so one may be longer than the other. At its end the source may have no events.
    const mine = here.slice(0, Math.max(1, there.length)).filter(({ id }) => id <= lastId);
    for (const [at, event] of mine.entries()) {
      if (isDeepStrictEqual({ ...event }, { ...there[at] })) continue;
      throw differs(extent, `event ${event.id} of queue ${name} is not the source's`);
    }
    after = mine.at(-1)?.id ?? lastId;
    progress(after, lastId, `comparing queue ${name}`);
  }
}
