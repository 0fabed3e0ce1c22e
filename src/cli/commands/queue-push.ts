import type { Command } from 'commander';
import { invalid } from '../../base/errors.ts';
import type { EventType, NewEvent } from '../../queue/queue.ts';
import { defineCommand, withIo } from '../command.ts';
import type { World } from '../world.ts';

interface Options {
  readonly source?: string;
  readonly type?: string;
  readonly subtype?: string;
  readonly content?: string;
  readonly batch?: boolean;
}

export function queuePush(world: World): Command {
  return defineCommand('push', 'Append an event, or a batch from standard input. Prints the ids.', [
    'quipu queue push inbox --source internal:dm:default:warden --type message --content hello',
    'quipu queue push inbox --batch < events.ndjson',
  ])
    .argument('<queue>', 'its name; it is made when it is not there')
    .option('--source <name>', 'where it comes from')
    .option('--type <type>', 'message or record')
    .option('--subtype <word>', 'a lower-case word')
    .option('--content <text>', 'the payload')
    .option('--batch', 'read one JSON object a line from standard input')
    .action(
      withIo(world, async (io, name: string, options: Options) => {
        const events = await readPushed(world, options);
        await using store = await io.createStore();
        const queue = await store.queues.open(name);
        const ids = await queue.pushBatch(events);
        if (!io.json) await world.out(ids.map((id) => `${id}\n`).join(''));
        else await io.printJson(options.batch === true ? { ids } : { id: ids[0] });
      }),
    );
}

async function readPushed(world: World, options: Options): Promise<NewEvent[]> {
  if (options.batch === true) {
    const { readEvents } = await import('../read-events.ts');
    return readEvents(world.stdin);
  }
  const { source, type, subtype, content } = options;
  for (const [option, value] of Object.entries({ source, type, content })) {
    if (value === undefined) throw invalid(`--${option}`, 'is needed');
  }
  return [
    {
      source: source ?? '',
      type: type as EventType,
      subtype: subtype ?? null,
      content: content ?? '',
    },
  ];
}
