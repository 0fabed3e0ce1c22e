import { isDeepStrictEqual } from 'node:util';
import { corrupt } from '../../base/errors.ts';
import type { QueueRecords, QueueState } from '../../queue/upkeep/queue-records.ts';
import { differs, type QueuePair, type Extent } from './pair.ts';

// Makes the queues of one store those of another, each as it was at one moment: queues may be in use meanwhile. Events
// never change, so the events up to the last one of that moment can be read and compared at any later time.

export interface QueueCounts {
  /** The queues that were created, or that got new events. */
  readonly queues: number;
  readonly queueEvents: number;
}

/**
 * Copies the queues, and counts what this call copied. The caller has run `compareBeginnings`, which says that the
 * target may be a copy.
 */
export async function copyQueues(pair: QueuePair): Promise<QueueCounts> {
  let [queues, queueEvents] = [0, 0];
  for (const name of await pair.from.names()) {
    const state = await pair.from.state(name);
    if (state === undefined) continue;
    const here = await pair.to.state(name);
    if (!isDeepStrictEqual(here, state)) {
      queueEvents += await copyEvents(pair, name, { state, here });
      pair.pause();
      await pair.to.adoptConsumers(name, state);
      queues += 1;
    }
    await compareQueue(pair, name, state);
  }
  await assertSound(pair.to, 'the copy');
  return { queues, queueEvents };
}

/** Each page states the event that it follows: no event is ever added twice. */
async function copyEvents(
  { from, to, progress, pause }: QueuePair,
  name: string,
  { state, here }: { readonly state: QueueState; readonly here: QueueState | undefined },
): Promise<number> {
  const { lastId } = state;
  let after = here?.lastId ?? 0;
  let copied = 0;
  for (let isDone = here !== undefined && after === lastId; !isDone;) {
    pause();
    const page = await from.events(name, after);
    const events = page.filter(({ id }) => id <= lastId);
    // Ids after the last of these events belong to deleted events, or to events pushed since.
    isDone = events.length < page.length || events.length === 0 || events.at(-1)?.id === lastId;
    const end = isDone ? lastId : (events.at(-1)?.id ?? after);
    await to.adoptEvents(name, { after, events, lastId: end });
    copied += events.length;
    after = end;
    progress(after, lastId, `queue ${name}`);
  }
  return copied;
}

/** CORRUPT for the first queue that is damaged. `whose` is for the message. */
export async function assertSound(records: QueueRecords, whose: string): Promise<void> {
  const [damaged] = await records.check();
  if (damaged === undefined) return;
  const { queue, what } = damaged;
  throw corrupt(`queues/${queue}`, `queue ${queue} of ${whose} is damaged: ${what}`);
}

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
    return other === undefined || consumer.last_acked_id > other.last_acked_id;
  });
  return beyond === undefined ? undefined : `the progress of consumer ${beyond.consumer_id}`;
}

/** Throws unless the target's queue equals the source's as it was when `state` was read. */
async function compareQueue(pair: QueuePair, name: string, state: QueueState): Promise<void> {
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
