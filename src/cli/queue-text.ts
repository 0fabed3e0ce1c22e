import { LAG_MAX } from '../queue/limits.ts';
import type { QueueInfo } from '../queue/queue.ts';
import { toPlainLine } from './plain-text.ts';
import { toFacts, toTable } from './table.ts';

const CELL_CHARS = 60;

/** Shows everything known about a queue, for people. */
export function toQueueText(info: QueueInfo): string {
  const facts = toFacts([
    ['thread', info.thread],
    ['events', String(info.event_count)],
    ['subscriptions', String(info.subscriptions.length)],
  ]);
  if (info.progress.length === 0) return facts;
  const known = new Map(info.subscriptions.map((row) => [row.consumer_id, row]));
  const rows = info.progress.map((consumer) => {
    const subscription = known.get(consumer.consumer_id);
    return [
      consumer.consumer_id,
      subscription === undefined ? 'unsubscribed' : consumer.state,
      String(consumer.last_acked_id),
      toLagText(consumer.lag),
      toPlainLine(subscription?.filter ?? '', CELL_CHARS),
      toPlainLine(subscription?.handler_cmd ?? '', CELL_CHARS),
    ];
  });
  const headings = ['CONSUMER', 'STATE', 'ACKED', 'LAG', 'FILTER', 'HANDLER'];
  const runs = info.progress.flatMap(({ consumer_id, handler }) =>
    handler === undefined
      ? []
      : [`${consumer_id} runs since ${handler.since} as process ${handler.pid}\n`],
  );
  const failures = info.progress
    .filter(({ last_error }) => last_error !== null)
    .map((consumer) => {
      const text = toPlainLine(consumer.last_error ?? '', 2 * CELL_CHARS);
      return `${consumer.consumer_id} failed ${consumer.failures} times: ${text}\n`;
    });
  return `${facts}\n${toTable(headings, rows, ['ACKED', 'LAG'])}${[...runs, ...failures].join('')}`;
}

function toLagText(lag: number | null): string {
  if (lag === null) return '-';
  return lag >= LAG_MAX ? `${LAG_MAX}+` : String(lag);
}
