import { resolve } from 'node:path';
import type { Command } from 'commander';
import { QuipuError } from '../../../base/errors.ts';
import { createQueueFolder } from '../../../queue/folder.ts';
import { defineThreadCommand, parseFilled } from '../define-command.ts';
import type { ThreadWorld } from '../thread-world.ts';

export function init(world: ThreadWorld, verbose: boolean): Command {
  return defineThreadCommand(
    'init',
    {
      summary: 'Make a directory a thread.',
      more: [
        'Creates events.db, events.jsonl, run/ and logs/. The directory may exist and hold other files; one that\nis a thread already is left as it is, with exit code 1. To remove a thread, delete its directory.',
      ],
      examples: ['thread init ./inbox', 'thread init /var/lib/agents/admin/inbox'],
    },
    verbose,
  )
    .argument('<path>', 'the directory', parseFilled)
    .action(async (path: string) => {
      const folder = resolve(world.cwd, path);
      if (!createQueueFolder(folder)) {
        throw new QuipuError('EXISTS', `${folder} is a thread directory already`, {
          what: 'thread',
          id: folder,
        });
      }
      await world.out(`Initialized thread ${folder}\n`);
    });
}
