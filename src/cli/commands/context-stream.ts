import type { Command } from 'commander';
import { Option } from 'commander';
import type { ContextId } from '../../base/brand.ts';
import { invalid } from '../../base/errors.ts';
import type { OpenTurn } from '../../context/open-turn.ts';
import type { PlaceFlags } from '../append-options.ts';
import { addPlaceOptions, toAppendOptions } from '../append-options.ts';
import { defineCommand, withIo } from '../command.ts';
import { Interrupted, untilAborted } from '../interrupt.ts';
import { parseContextId, parseCount } from '../parse-argument.ts';
import type { World } from '../world.ts';

interface Options extends PlaceFlags {
  readonly type: string;
  readonly typeVersion?: number;
  readonly encoding: 'text' | 'bytes';
}

export function contextStream(world: World): Command {
  return addPlaceOptions(
    defineCommand('stream', 'Stream standard input into one turn and print its id at the end.', [
      'my-model --stream | quipu context stream 1 --type chat.message',
    ])
      .argument('<context>', 'context id', parseContextId)
      .requiredOption('--type <name>', 'what the payload is, such as chat.message')
      .option('--type-version <n>', 'version of that type (default: 1)', parseCount)
      .addOption(
        new Option('--encoding <name>', 'what comes in').choices(['text', 'bytes']).default('text'),
      ),
  )
    .addHelpText(
      'after',
      '\nWhat came in is durable at once. Ctrl-C keeps it, in a turn that is marked as aborted.',
    )
    .action(
      withIo(world, async (io, id: ContextId, options: Options) => {
        const { type, typeVersion: version, encoding } = options;
        await using store = await io.openStore();
        const signal = world.catchInterrupt();
        const open = await store.contexts.open(
          id,
          { type, ...(version !== undefined && { version }), encoding },
          toAppendOptions(options),
        );
        const source = untilAborted(world.stdin, signal);
        await feed(open, encoding === 'text' ? checkUtf8(source) : source);
        const turn = signal.aborted ? await open.abort('interrupted') : await open.seal();
        await (io.json ? io.printJson(turn) : world.out(`${turn.id}\n`));
        if (signal.aborted) {
          throw new Interrupted(`interrupted; turn ${turn.id} keeps ${turn.size} bytes as aborted`);
        }
      }),
    );
}

/** When the input fails, the turn ends as aborted with what came before. */
async function feed(open: OpenTurn, source: AsyncIterable<Uint8Array>): Promise<void> {
  try {
    for await (const piece of source) await open.write(piece);
  } catch (error) {
    await open.abort(error instanceof Error ? error.message : String(error));
    throw error;
  }
}

/** Passes the bytes on, and refuses the first piece that cannot be text. */
async function* checkUtf8(source: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const check = (piece?: Uint8Array): void => {
    try {
      decoder.decode(piece, { stream: piece !== undefined });
    } catch {
      throw invalid('input', 'is not valid UTF-8; say --encoding bytes to stream other bytes');
    }
  };
  for await (const piece of source) {
    check(piece);
    yield piece;
  }
  check();
}
