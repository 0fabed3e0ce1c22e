import { given } from '../../base/given.ts';
import { invalid, type QuipuError } from '../../base/errors.ts';
import type { Queue, QueueEvent, WorkNote } from '../../queue/events/queue.ts';
import { quipuVerb, upTo } from '../kit/command.ts';
import type { CommandIo, QuipuShell, QuipuVerb } from '../kit/command.ts';
import { EVENT_TYPES, collect, parseCount, parseSeconds } from '../kit/parse.ts';
import { argument, oneOf, option, preset, required } from '../kit/verb.ts';

export const queueVerbs: readonly QuipuVerb[] = [
  quipuVerb({
    name: 'create',
    summary: 'Create a queue, if it does not exist.',
    examples: ['quipu queue create inbox'],
    takes: [argument('<queue>', 'its name')],
    async give(io, name) {
      await (await io.createStore()).queues.open(name);
      return { name };
    },
    show: ({ name }) => `${name}\n`,
  }),
  quipuVerb({
    name: 'list',
    summary: 'List the queues by name.',
    examples: ['quipu queue list'],
    list: async (io) => (await io.openStore()).queues.list(),
    columns: [
      ['QUEUE', ({ name }) => name],
      ['EVENTS', ({ event_count }) => event_count, 'right'],
      ['CONSUMERS', ({ subscriptions }) => subscriptions, 'right'],
    ],
  }),
  quipuVerb({
    name: 'show',
    aliases: ['info'],
    summary: 'Show the consumers of a queue and how far each one is.',
    examples: ['quipu queue show inbox', 'quipu queue show inbox --json'],
    takes: [argument('<queue>', 'its name')],
    async run(io, name) {
      const info = await (await openQueue(io, name)).info();
      const { toQueueText } = await import('../kit/queue-events.ts');
      await io.print(info, toQueueText);
    },
  }),
  quipuVerb({
    name: 'push',
    summary: 'Append an event, or a batch from standard input. Prints the ids.',
    examples: [
      'quipu queue push inbox --source internal:dm:default:warden --type message --content hello',
      'quipu queue push inbox --batch < events.ndjson',
    ],
    takes: [
      argument('<queue>', 'name of the queue; created if it does not exist'),
      option('--source <name>', 'source of the event'),
      // The store checks the value.
      oneOf('--type <type>', 'type of the event', EVENT_TYPES).argParser(String),
      option('--subtype <word>', 'subtype: a lower-case word'),
      option('--content <text>', 'content of the event'),
      option('--batch', 'read one JSON object a line from standard input'),
    ],
    async run(io, name, options) {
      const { shell } = io;
      const { readPushed } = await import('../kit/queue-events.ts');
      const missing = (option: string): QuipuError => invalid(option, 'is needed');
      const events = await readPushed(shell.stdin, options, missing);
      const queue = await (await io.createStore()).queues.open(name);
      const ids = await queue.pushBatch(events);
      if (!io.json) await shell.out(ids.map((id) => `${id}\n`).join(''));
      else await io.printJson(options.batch === true ? { ids } : { id: ids[0] });
    },
  }),
  quipuVerb({
    name: 'peek',
    summary: 'Print events, one JSON object a line, and change nothing.',
    examples: [
      'quipu queue peek inbox',
      `quipu queue peek inbox --after 40 --filter "source LIKE 'external:%'"`,
    ],
    takes: [
      argument('<queue>', 'its name'),
      preset('--after <id>', 'begin after this event', parseCount, 0),
      preset('-n, --limit <n>', 'how many at most', parseCount, 100),
      option('--filter <condition>', `such as "type = 'message'"`),
    ],
    async each(io, name, { after, limit, filter }) {
      const queue = await openQueue(io, name);
      return queue.peek({ limit, lastEventId: after, ...given({ filter }) });
    },
    line: toJsonLine,
  }),
  quipuVerb({
    name: 'subscribe',
    summary: 'Register a consumer and the command that handles its events.',
    examples: [
      'quipu queue subscribe inbox worker-1 --handler ./work.sh',
      `quipu queue subscribe inbox reader --handler ./read.sh --filter "type = 'message'"`,
    ],
    takes: [
      argument('<queue>', 'its name'),
      argument('<consumer>', 'a name, without slashes'),
      required('--handler <cmd>', 'a command for the shell, run where the store is'),
      option('--filter <condition>', 'which events (default: all)'),
    ],
    give: async (io, name, consumer, options) =>
      (await openQueue(io, name)).subscribe({ consumer, ...options }),
    show: ({ consumer_id }) => `${consumer_id}\n`,
  }),
  quipuVerb({
    name: 'unsubscribe',
    summary: 'Remove a consumer. Its progress stays.',
    examples: ['quipu queue unsubscribe inbox worker-1'],
    takes: [argument('<queue>', 'its name'), argument('<consumer>', 'which one')],
    give: async (io, name, consumer) => (await openQueue(io, name)).unsubscribe(consumer),
  }),
  quipuVerb({
    name: 'pop',
    summary: 'Acknowledge the events that a consumer handled, and print the next ones.',
    examples: [
      'quipu queue pop inbox worker-1 --after 0',
      'quipu queue pop inbox worker-1 --after 42 -n 10',
    ],
    takes: [
      argument('<queue>', 'its name'),
      argument('<consumer>', 'name of the consumer'),
      required('--after <id>', 'the newest event that was handled, 0 for none', parseCount),
      preset('-n, --limit <n>', 'how many at most', parseCount, 100),
      option(
        '--fence <n>',
        'the lease of the worker that runs this (default: $QUIPU_FENCE)',
        parseCount,
      ),
    ],
    async each(io, name, consumer, options) {
      const { after, limit, fence = fenceOf(io.shell, name, consumer) } = options;
      const queue = await openQueue(io, name);
      return queue.pop(consumer, { lastEventId: after, limit, ...given({ fence }) });
    },
    line: toJsonLine,
  }),
  quipuVerb({
    name: 'dispatch',
    summary: 'Start the handlers that have events to handle, as a push does.',
    examples: ['quipu queue dispatch inbox'],
    takes: [argument('<queue>', 'its name')],
    async run(io, name) {
      const { shell } = io;
      const report = await (await openQueue(io, name)).dispatch();
      if (io.json) return io.printJson(report);
      for (const consumer of report.started) await shell.out(`started ${consumer}\n`);
      for (const { consumer, reason } of report.skipped) {
        shell.err(`skipped ${consumer} (${reason})\n`);
      }
    },
  }),
  quipuVerb({
    name: 'work',
    summary:
      'Run the handlers of consumers here, until Ctrl-C. For queues on PostgreSQL; any number of machines may do it.',
    examples: [
      'quipu queue work --store postgres://db.example/agents',
      'quipu queue work inbox outbox --jobs 8',
      'quipu queue work inbox --consumer worker-1 --once',
    ],
    takes: [
      argument('[queue...]', 'which ones (default: all)'),
      option('--consumer <id>', 'only this consumer; may be given again', collect),
      option('--once', 'end when there is nothing left to handle'),
      option('-j, --jobs <n>', 'handlers at a time (default: 4)', parseCount),
      option(
        '--lease <seconds>',
        'seconds without a sign of this worker after which others take over (default: 15)',
        parseSeconds,
      ),
    ],
    async run(io, queues, options) {
      const { shell } = io;
      const { consumer, once, jobs, lease } = options;
      const signal = shell.catchInterrupt();
      const { queues: all } = await io.openStore();
      const print = async (note: WorkNote): Promise<void> => {
        await io.print(note, toLine);
      };
      let printed: Promise<void> = Promise.resolve();
      await all.work({
        signal,
        // Handlers find the store through this variable.
        env: { QUIPU_STORE: io.place },
        note: (note) => {
          printed = printed.then(() => print(note));
        },
        ...(queues.length > 0 && { queues }),
        ...given({ consumers: consumer, once, jobs }),
        ...(lease !== undefined && { leaseMs: Math.round(lease * 1000) }),
      });
      await printed;
    },
  }),
  quipuVerb({
    name: 'follow',
    summary: 'Print the events of a queue, then every new one until Ctrl-C.',
    examples: ['quipu queue follow inbox', 'quipu queue follow inbox --after 40 -n 3'],
    takes: [
      argument('<queue>', 'its name'),
      preset('--after <id>', 'begin after this event', parseCount, 0),
      option('--filter <condition>', `such as "type = 'message'"`),
      option('-n, --count <n>', 'stop after this many events', parseCount),
    ],
    async *each(io, name, { after, filter, count }) {
      const signal = io.shell.catchInterrupt();
      const queue = await openQueue(io, name);
      yield* upTo(count, queue.follow({ lastEventId: after, signal, ...given({ filter }) }));
    },
    line: toJsonLine,
  }),
];

/** The fence that a worker gave this handler, if the command is about the same consumer. */
function fenceOf({ env }: QuipuShell, queue: string, consumer: string): number | undefined {
  const { QUIPU_FENCE: fence, QUIPU_QUEUE, QUIPU_CONSUMER } = env;
  if (fence === undefined || QUIPU_QUEUE !== queue || QUIPU_CONSUMER !== consumer) return undefined;
  return Number(fence);
}

function toLine({ queue, consumer, what, text }: WorkNote): string {
  return `${queue} ${consumer} ${what}: ${text.replaceAll(/\s+/g, ' ')}\n`;
}

/** Opens a queue that exists. */
async function openQueue(io: CommandIo, name: string): Promise<Queue> {
  return (await io.openStore()).queues.open(name, { create: false });
}

function toJsonLine(event: QueueEvent): string {
  return `${JSON.stringify(event)}\n`;
}
