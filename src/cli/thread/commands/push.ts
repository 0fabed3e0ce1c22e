import { InvalidArgumentError } from 'commander';
import type { Command } from 'commander';
import { invalid } from '../../../base/errors.ts';
import type { EventType, NewEvent } from '../../../queue/queue.ts';
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
import { wake } from '../wake.ts';

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
          'The event is on the disk before the command says so. Then handlers are woken, and nobody waits for them: the\nnotifier is asked to dispatch, in the background; if that fails, the handlers are started without it.',
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
    .option('--content <data>', 'the payload')
    .option('--batch', 'read one JSON object a line from standard input');
  return withJson(command).action(async (options: Options) => {
    await withQueue(world, options, async (queue) => {
      if (options.batch === true) {
        const events = await readEvents(world.stdin);
        const ids = await queue.pushBatch(events);
        await world.out(options.json === true ? `${JSON.stringify({ ids })}\n` : toText(ids));
        const last = events.at(-1);
        if (last !== undefined) wake(world, queue, last.source);
        return;
      }
      const event = toEvent(options);
      const id = await queue.push(event);
      await world.out(options.json === true ? `${JSON.stringify({ id })}\n` : toText([id]));
      wake(world, queue, event.source);
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
  if (ids.length === 0) return 'Pushed 0 events\n';
  return `Pushed ${ids.length} events (${ids[0] ?? ''}-${ids.at(-1) ?? ''})\n`;
}

function parseType(text: string): string {
  if (text === 'message' || text === 'record') return text;
  throw new InvalidArgumentError('It is message or record.');
}
