import { InvalidArgumentError } from 'commander';
import type { Command } from 'commander';
import { invalid } from '../../../base/errors.ts';
import { info, warn } from '../../../queue/files/runtime-log.ts';
import { askNotifier } from '../../../queue/notifier.ts';
import type { EventType, NewEvent } from '../../../queue/queue.ts';
import type { SqliteQueue } from '../../../queue/sqlite-queue.ts';
import {
  defineThreadCommand,
  onThread,
  parseFilled,
  withJson,
  withQueue,
} from '../define-command.ts';
import type { ThreadOptions } from '../define-command.ts';
import { readEvents } from '../../read-events.ts';
import type { ThreadWorld } from '../thread-world.ts';

interface Options extends ThreadOptions {
  readonly source?: string;
  readonly type?: EventType;
  readonly subtype?: string;
  readonly content?: string;
  readonly batch?: boolean;
}

export function push(world: ThreadWorld, verbose: boolean): Command {
  const command = onThread(
    defineThreadCommand(
      'push',
      {
        summary: 'Append an event, or a batch of events from standard input.',
        more: [
          'The event is on the disk before the command says so. Then the notifier is asked to dispatch; if that\nfails, the handlers are started from here, with a warning.',
          'Sources: external:<channel_type>:<channel_id>:<session_type>:<session_id>:<peer_id>,\ninternal:<session_type>:<session_id>:<agent_id>, self, or a plain name.',
          'With --batch every line of standard input is an object with "source", "type", "content" and, if you like,\n"subtype". All lines are stored, or none.',
        ],
        examples: [
          'thread push --thread ./inbox --source self --type record --subtype decision --content "go on"',
          "thread push --thread ./inbox --source internal:dm:default:warden --type message --content 'hello'",
          'thread push --thread ./inbox --batch < events.ndjson',
        ],
      },
      verbose,
    ),
  )
    .option('--source <name>', 'where it comes from', parseFilled)
    .option('--type <type>', 'message or record', parseType)
    .option('--subtype <subtype>', 'a lower-case word', parseFilled)
    .option('--content <data>', 'the payload', parseFilled)
    .option('--batch', 'read one JSON object a line from standard input');
  return withJson(command).action(async (options: Options) => {
    await withQueue(world, options, async (queue) => {
      if (options.batch === true) {
        const events = await readEvents(world.stdin);
        const ids = await queue.pushBatch(events);
        await world.out(options.json === true ? `${JSON.stringify({ ids })}\n` : toText(ids));
        await wake(world, queue, events.at(-1)?.source ?? '');
        return;
      }
      const event = toEvent(options);
      const id = await queue.push(event);
      await world.out(options.json === true ? `${JSON.stringify({ id })}\n` : toText([id]));
      await wake(world, queue, event.source);
    });
  });
}

function toEvent({ source, type, subtype, content }: Options): NewEvent {
  for (const [name, value] of Object.entries({ source, type, content })) {
    if (value === undefined) throw invalid(`required option '--${name}'`, 'is not given');
  }
  return {
    source: source ?? '',
    type: type ?? 'message',
    subtype: subtype ?? null,
    content: content ?? '',
  };
}

function toText(ids: readonly number[]): string {
  if (ids.length === 1) return `Pushed event ${ids[0] ?? ''}\n`;
  return `Pushed ${ids.length} events (${ids[0] ?? ''}-${ids.at(-1) ?? ''})\n`;
}

/** What is stored stays stored: whatever fails here is a warning. */
async function wake(world: ThreadWorld, queue: SqliteQueue, author: string): Promise<void> {
  const notified = await askNotifier(queue.folder, author, world);
  if (notified.outcome === 'queued') {
    const state = notified.exit === 0 ? 'queued' : 'already queued';
    queue.log(info(`push: notifier task=${notified.task} ${state}`));
    return;
  }
  const { task, reason } = notified;
  queue.log(warn(`push: notifier task=${task} failed: ${reason}; dispatching from here`));
  world.err(`Warning: the notifier failed (${reason}); handlers are started from here\n`);
  try {
    await queue.dispatch();
  } catch (error) {
    world.err(`Warning: handlers were not started: ${(error as Error).message}\n`);
  }
}

function parseType(text: string): string {
  if (text === 'message' || text === 'record') return text;
  throw new InvalidArgumentError('It is message or record.');
}
