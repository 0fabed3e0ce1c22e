import type { Command } from 'commander';
import { invalid } from '../../base/errors.ts';
import type { NewEntry } from '../../session/entries/session-entry.ts';
import { defineCommand, withIo } from '../command.ts';
import { parseJson } from '../parse-argument.ts';
import { readLines } from '../read-lines.ts';
import { toSessionArgument } from '../session-argument.ts';
import type { World } from '../world.ts';

const LINE_BYTES_MAX = 256 * 1024 * 1024;

interface Options {
  readonly entry?: unknown;
}

export function sessionAppend(world: World): Command {
  return defineCommand('append', 'Append entries, and print their ids.', [
    `quipu session append $id --entry '{"type":"message","message":{"role":"user"}}'`,
    'quipu session append $id < entries.jsonl',
  ])
    .argument('<session>', 'id or path of its file')
    .option('--entry <json>', 'the entry (default: one a line on standard input)', parseJson)
    .action(
      withIo(world, async (io, name: string, { entry }: Options) => {
        await using store = await io.openStore();
        await using session = await store.sessions.open(toSessionArgument(world, name));
        for await (const given of entry === undefined ? entriesOf(world) : [entry]) {
          const { id, parentId } = await session.append(given as NewEntry);
          await (io.json ? io.printJson({ id, parentId }) : world.out(`${id}\n`));
        }
      }),
    );
}

async function* entriesOf(world: World): AsyncGenerator<unknown> {
  let number = 0;
  for await (const bytes of readLines(world.stdin, LINE_BYTES_MAX)) {
    number++;
    const line = Buffer.from(bytes).toString('utf8');
    if (line.trim() === '') continue;
    try {
      yield JSON.parse(line) as unknown;
    } catch (error) {
      throw invalid(`line ${number}`, `is not JSON: ${(error as SyntaxError).message}`);
    }
  }
}
