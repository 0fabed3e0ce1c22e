import type { Command } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import { toSize } from '../quantity.ts';
import { toSessionArgument } from '../session-argument.ts';
import { toFacts } from '../table.ts';
import type { World } from '../world.ts';

export function sessionShow(world: World): Command {
  return defineCommand('show', 'Say where a session is and what it has.', [
    'quipu session show $id',
  ])
    .argument('<session>', 'id or path of its file')
    .action(
      withIo(world, async (io, name: string) => {
        await using store = await io.openStore();
        const details = await store.sessions.details(toSessionArgument(world, name));
        if (io.json) {
          await io.printJson(details);
          return;
        }
        const { id, file, available, header, sizeBytes = 0 } = details;
        await world.out(
          toFacts([
            ['session', id],
            ['file', available ? file : `${file} (not here)`],
            ['size', toSize(sizeBytes)],
            ['cwd', header?.cwd ?? ''],
            ['began', header?.timestamp ?? ''],
            ['updated', details.updatedAt ?? ''],
            ['forked from', header?.parentSession ?? ''],
            ['artifacts', `${details.artifacts.join(' ')} (${toSize(details.artifactBytes)})`],
            ['agent outputs', details.agentOutputs.join(' ')],
            ['blobs', String(details.blobs)],
          ]),
        );
      }),
    );
}
