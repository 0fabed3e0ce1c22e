import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Answers } from '../api/answers.ts';
import { ask } from '../api/http.ts';
import { Empty, KeyValues, Skeleton, Time, Trouble } from '../parts/basics.tsx';
import { VirtualList } from '../parts/virtual-list.tsx';
import { useTitle } from '../state/app.ts';
import { count, firstLine, plural, visible } from '../state/format.ts';
import { useLoad } from '../state/load.ts';
import { useStream } from '../state/stream.ts';

interface QueueEvent {
  readonly id: number;
  readonly created_at: string;
  readonly source: string;
  readonly type: string;
  readonly subtype: string | null;
  readonly content: string;
}

type Consumer = Answers['queueInfo']['progress'][number];

const SHOWN = 500;
const CONSUMERS_MS = 3000;

/** The newest events of a queue, and how far its consumers are. */
export function QueueView({ queue }: { queue: string }): JSX.Element {
  const info = useLoad(`queue ${queue}`, (signal) => ask('queueInfo', { name: queue }, { signal }));
  const [events, setEvents] = useState<readonly QueueEvent[]>([]);
  useEffect(() => setEvents([]), [queue]);
  useEffect(() => {
    const timer = setInterval(info.again, CONSUMERS_MS);
    return () => clearInterval(timer);
  }, [queue]);
  useTitle(queue);
  const { value: facts } = info;
  return (
    <>
      <main class="queue" aria-label="Events">
        {info.error !== undefined && facts === undefined ? (
          <Trouble error={info.error} again={info.again} />
        ) : facts === undefined ? (
          <Skeleton rows={8} />
        ) : (
          <>
            <Newest {...{ queue, after: Math.max(0, facts.last_event_id - SHOWN), setEvents }} />
            {events.length === 0 ? (
              <Empty
                title="No event was pushed yet."
                command={`thread push --thread ${queue} --source me --type message --content hello`}
              />
            ) : (
              <VirtualList class="events">
                {events.map((event) => (
                  <EventRow key={event.id} event={event} />
                ))}
              </VirtualList>
            )}
          </>
        )}
      </main>
      <aside class="look" aria-label="Consumers">
        <h2>Queue</h2>
        {facts !== undefined && (
          <KeyValues
            rows={[
              ['name', visible(queue)],
              ['events', count(facts.event_count)],
              ['newest', <code>{facts.last_event_id}</code>],
            ]}
          />
        )}
        <h2>Consumers</h2>
        {facts?.progress.length === 0 && <p class="muted">Nobody has subscribed.</p>}
        {facts?.progress.map((consumer) => (
          <ConsumerFacts
            key={consumer.consumer_id}
            {...{ consumer, newest: facts.last_event_id }}
          />
        ))}
      </aside>
    </>
  );
}

/** Follows the queue from its newest events on. */
function Newest({
  queue,
  after,
  setEvents,
}: {
  queue: string;
  after: number;
  setEvents: (change: (old: readonly QueueEvent[]) => readonly QueueEvent[]) => void;
}): null {
  const [from] = useState(after);
  useStream(`queue ${queue}`, 'followQueue', { name: queue, after: from }, ({ event, data }) => {
    if (event !== 'event') return;
    const pushed = data as QueueEvent;
    setEvents((old) => (old[0]?.id === pushed.id ? old : [pushed, ...old].slice(0, SHOWN)));
  });
  return null;
}

function EventRow({ event }: { event: QueueEvent }): JSX.Element {
  return (
    <details class="event">
      <summary>
        <code>{event.id}</code>
        <span class="tag">{visible(event.subtype ?? event.type)}</span>
        <span class="source">{visible(event.source)}</span>
        <span class="text">{firstLine(event.content, 160)}</span>
        <Time at={Date.parse(event.created_at)} />
      </summary>
      <pre class="plain">{visible(event.content.slice(0, 20_000))}</pre>
    </details>
  );
}

function ConsumerFacts({ consumer, newest }: { consumer: Consumer; newest: number }): JSX.Element {
  const done = newest === 0 ? 1 : Math.min(1, consumer.last_acked_id / newest);
  const { failures, handler } = consumer;
  const isWaiting = failures > 0 && consumer.state !== 'failed' && handler === undefined;
  const state = isWaiting
    ? `waits for a retry after ${plural(failures, 'failure')}`
    : consumer.state;
  return (
    <div class="consumer">
      <b>{visible(consumer.consumer_id)}</b>{' '}
      <span class={consumer.state === 'failed' ? 'bad' : 'muted'}>{state}</span>
      <div class="bar" role="img" aria-label={`acknowledged up to ${consumer.last_acked_id}`}>
        <i style={{ width: `${100 * done}%` }} />
      </div>
      <p class="muted">
        acknowledged {count(consumer.last_acked_id)}
        {consumer.lag !== null && `, ${count(consumer.lag)} behind`}
      </p>
      {consumer.last_error !== null && <p class="bad">{firstLine(consumer.last_error, 200)}</p>}
    </div>
  );
}
