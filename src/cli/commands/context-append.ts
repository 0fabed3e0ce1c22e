import type { Command } from 'commander';
import type { ContextId } from '../../base/brand.ts';
import { addAppendOptions, toAppendOptions } from '../append-options.ts';
import type { AppendFlags } from '../append-options.ts';
import { defineCommand, withIo } from '../command.ts';
import { parseContextId, parseCount } from '../parse-argument.ts';
import type { PayloadOptions } from '../payload-options.ts';
import { addPayloadOptions, readPayload } from '../payload-options.ts';
import type { World } from '../world.ts';

interface Options extends PayloadOptions, AppendFlags {
  readonly type: string;
  readonly typeVersion?: number;
}

export function contextAppend(world: World): Command {
  const command = defineCommand('append', 'Append a turn to a context and print its id.', [
    'quipu context append 1 --type chat.message --json-payload \'{"role":"user","text":"hi"}\'',
    'turn=$(echo "long text" | quipu context append 1 --type note --stdin)',
    'quipu context append 1 --type image.png --file shot.png --encoding bytes --key upload-7',
  ])
    .argument('<context>', 'context id', parseContextId)
    .requiredOption('--type <name>', 'what the payload is, such as chat.message')
    .option('--type-version <n>', 'version of that type (default: 1)', parseCount);
  return addAppendOptions(addPayloadOptions(command)).action(
    withIo(world, async (io, id: ContextId, options: Options) => {
      const { type, typeVersion: version } = options;
      const given = await readPayload(io, options);
      await using store = await io.openStore();
      const turn = await store.contexts.append(
        id,
        { type, ...(version !== undefined && { version }), ...given },
        toAppendOptions(options),
      );
      await (io.json ? io.printJson(turn) : world.out(`${turn.id}\n`));
    }),
  );
}
