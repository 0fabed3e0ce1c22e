import { resolve } from 'node:path';
import type { Command } from 'commander';
import { QuipuError } from '../../../base/errors.ts';
import { mustHaveBeenQueue } from '../../../queue/folder.ts';
import { inQueueWords } from '../../../queue/sqlite/queue-error.ts';
import { defineThreadCommand, onThread, withJson } from '../define-command.ts';
import type { ThreadOptions } from '../define-command.ts';
import type { ThreadWorld } from '../thread-world.ts';

interface Options extends ThreadOptions {
  readonly repair?: boolean;
}

export function verify(world: ThreadWorld, verbose: boolean): Command {
  const command = onThread(
    defineThreadCommand(
      'verify',
      {
        summary: 'Read every event and say whether all are there and what was pushed.',
        more: [
          'With --repair, what is missing or damaged in events.db is taken from events.jsonl and the older files beside it. What\nis in neither is said to be lost, and no longer stops those who read. A database that cannot be read is put aside.\nNothing is deleted. Nobody may use the thread meanwhile.',
        ],
        examples: ['thread verify --thread ./inbox', 'thread verify --thread ./inbox --repair'],
      },
      verbose,
    ),
  ).option('--repair', 'mend what can be mended');
  return withJson(command).action(async (options: Options) => {
    // Other commands need not load them.
    const { repairQueue } = await import('../../../queue/repair-queue.ts');
    const { verifyQueue } = await import('../../../queue/verify-queues.ts');
    const folder = mustHaveBeenQueue(resolve(world.cwd, options.thread));
    const lost =
      options.repair === true ? inQueueWords(folder.path, () => repairQueue(folder)) : [];
    const problems = await verifyQueue(folder);
    const ok = problems.length === 0;
    if (options.json === true) await world.out(`${JSON.stringify({ ok, lost, problems })}\n`);
    else for (const line of [...lost, ...problems]) await world.out(`${line}\n`);
    if (ok && options.json !== true) await world.out('ok\n');
    if (ok) return;
    const message = `events.db in ${folder.path} is damaged: ${problems[0] ?? ''}`;
    throw new QuipuError('CORRUPT', message, { file: 'events.db', offset: 0 });
  });
}
