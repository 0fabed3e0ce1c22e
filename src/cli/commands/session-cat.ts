import type { Command } from 'commander';
import type { SessionEntry } from '../../session/entries/session-entry.ts';
import type { Session } from '../../session/session.ts';
import { defineCommand, withIo } from '../command.ts';
import { parseCount } from '../parse-argument.ts';
import { toSessionArgument } from '../session-argument.ts';
import type { World } from '../world.ts';

interface Options {
  readonly last?: number;
  readonly branch?: string | true;
  readonly raw?: boolean;
}

export function sessionCat(world: World): Command {
  return defineCommand('cat', 'Print the entries of a session, one JSON object a line.', [
    'quipu session cat $id -n 50 --raw',
    'quipu session cat ./2026-11-15T10-00-00-000Z_x.jsonl --branch',
  ])
    .argument('<session>', 'id or path of its file')
    .option('-n, --last <n>', 'only the last n; the rest of the file is not read', parseCount)
    .option('--branch [entry]', 'only what leads to the leaf, or to this entry')
    .option('--raw', 'leave references to blobs as they are')
    .action(
      withIo(world, async (io, name: string, options: Options) => {
        await using store = await io.openStore();
        await using session = await store.sessions.open(toSessionArgument(world, name));
        for await (const entry of chosen(session, options, world)) await io.printJson(entry);
      }),
    );
}

async function* chosen(
  session: Session,
  { last, branch, raw = false }: Options,
  world: World,
): AsyncGenerator<SessionEntry> {
  const hydrate = !raw;
  if (last === undefined && branch === undefined) {
    for await (const { entry, warnings } of session.entries({ hydrate })) {
      yield entry;
      for (const { message, about } of warnings) world.err(`${message}: ${about}\n`);
    }
    return;
  }
  const view =
    branch === undefined
      ? await session.last(last ?? 0, { hydrate })
      : await session.branch(branch === true ? undefined : branch, { hydrate });
  const { warnings, malformedLines } = view;
  yield* last === undefined ? view.entries : view.entries.slice(-last);
  for (const { message, about } of warnings) world.err(`${message}: ${about}\n`);
  if (malformedLines > 0) world.err(`${malformedLines} lines could not be read\n`);
}
