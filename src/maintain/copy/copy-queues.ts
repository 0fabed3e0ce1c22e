import { isDeepStrictEqual } from 'node:util';
import { QuipuError } from '../../base/errors.ts';
import type { QueueRecords, QueueState } from '../../queue/upkeep/queue-records.ts';
import { compareQueue } from './compare-queues.ts';
import type { QueuePair } from './pair.ts';

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
  throw new QuipuError('CORRUPT', `queue ${queue} of ${whose} is damaged: ${what}`, {
    file: `queues/${queue}`,
    offset: 0,
  });
}
