import type { Command } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import { parseCount } from '../parse-argument.ts';
import { toSessionArgument } from '../session-argument.ts';
import type { World } from '../world.ts';

interface Options {
  readonly offset?: number;
  readonly limit?: number;
}

export function sessionArtifact(world: World): Command {
  return defineCommand('artifact', 'List the artifacts of a session, or print one.', [
    'quipu session artifact $id',
    'quipu session artifact $id 0 --offset 1 --limit 100',
    'quipu session artifact $id "agent://0-Plan?q=.steps[0]"',
  ])
    .argument('<session>', 'id or path of its file')
    .argument('[address]', 'a number, artifact://<id> or agent://<id>')
    .option('--offset <line>', 'the first line, counted from 1', parseCount)
    .option('--limit <lines>', 'how many lines', parseCount)
    .action(
      withIo(world, async (io, name: string, address: string | undefined, options: Options) => {
        await using store = await io.openStore();
        const session = toSessionArgument(world, name);
        if (address === undefined) {
          const { artifacts, agentOutputs } = await store.sessions.details(session);
          const ids = [
            ...artifacts.map((id) => `artifact://${id}`),
            ...agentOutputs.map((id) => `agent://${id}`),
          ];
          if (io.json) await io.printJson({ artifacts, agentOutputs });
          else if (ids.length > 0) await world.out(`${ids.join('\n')}\n`);
          return;
        }
        const url = /^\d+$/.test(address) ? `artifact://${address}` : address;
        const { offset, limit } = options;
        const resource = await store.sessions.resolve(url, {
          session,
          ...(offset !== undefined && { offset }),
          ...(limit !== undefined && { limit }),
        });
        for (const note of resource.notes) world.err(`${note}\n`);
        await (io.json ? io.printJson(resource) : world.out(resource.content));
      }),
    );
}
