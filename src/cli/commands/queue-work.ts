import type { Command } from 'commander';
import type { WorkNote } from '../../queue/queue.ts';
import { defineCommand, withIo } from '../command.ts';
import { collect, parseCount, parseSeconds } from '../parse-argument.ts';
import type { World } from '../world.ts';

interface Options {
  readonly consumer?: readonly string[];
  readonly once?: boolean;
  readonly jobs?: number;
  readonly lease?: number;
}

export function queueWork(world: World): Command {
  return defineCommand(
    'work',
    'Run the handlers of consumers here, until Ctrl-C. For queues on PostgreSQL; any number of machines may do it.',
    [
      'quipu queue work --store postgres://db.example/agents',
      'quipu queue work inbox outbox --jobs 8',
      'quipu queue work inbox --consumer worker-1 --once',
    ],
  )
    .argument('[queue...]', 'which ones (default: all)')
    .option('--consumer <id>', 'only this consumer; may be given again', collect)
    .option('--once', 'end when there is nothing left to handle')
    .option('-j, --jobs <n>', 'handlers at a time (default: 4)', parseCount)
    .option(
      '--lease <seconds>',
      'after so long without a sign of this worker, others handle its events (default: 15)',
      parseSeconds,
    )
    .action(
      withIo(world, async (io, queues: readonly string[], options: Options) => {
        const { consumer, once, jobs, lease } = options;
        const signal = world.catchInterrupt();
        await using store = await io.openStore();
        const print = async (note: WorkNote): Promise<void> => {
          await (io.json ? io.printJson(note) : world.out(toLine(note)));
        };
        let printed: Promise<void> = Promise.resolve();
        await store.queues.work({
          signal,
          // Handlers find the store without being told.
          env: { QUIPU_STORE: io.place },
          note: (note) => {
            printed = printed.then(() => print(note));
          },
          ...(queues.length > 0 && { queues }),
          ...(consumer !== undefined && { consumers: consumer }),
          ...(once !== undefined && { once }),
          ...(jobs !== undefined && { jobs }),
          ...(lease !== undefined && { leaseMs: Math.round(lease * 1000) }),
        });
        await printed;
      }),
    );
}

function toLine({ queue, consumer, what, text }: WorkNote): string {
  return `${queue} ${consumer} ${what}: ${text.replaceAll(/\s+/g, ' ')}\n`;
}
