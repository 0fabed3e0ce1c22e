import type { Command } from 'commander';
import type { ContextId } from '../../base/brand.ts';
import type { AppendFlags } from '../append-options.ts';
import { addAppendOptions, toAppendOptions } from '../append-options.ts';
import { defineCommand, withIo } from '../command.ts';
import { parseContextId } from '../parse-argument.ts';
import type { World } from '../world.ts';

const ABOUT = `
Standard input has one JSON object a line: {"type", "payload"} and optionally "version" and
"encoding" (json, text, msgpack or bytes; bytes are given as {"base64": "…"}). The lines that
\`quipu context export\` prints are understood too. All lines are stored, or none.`;

export function contextAppendBatch(world: World): Command {
  return addAppendOptions(
    defineCommand('append-batch', 'Append many turns at once and print their ids, one a line.', [
      'quipu context append-batch 1 < turns.ndjson',
      'quipu context export 1 > turns.ndjson && quipu context append-batch 2 < turns.ndjson',
    ]).argument('<context>', 'context id', parseContextId),
  )
    .addHelpText('after', ABOUT)
    .action(
      withIo(world, async (io, id: ContextId, options: AppendFlags) => {
        // Loaded now: it hashes, and `quipu doctor` must run where that module does not load.
        const { readBatch } = await import('../read-batch.ts');
        const batch = await readBatch(world.stdin);
        await using store = await io.openStore();
        const turns = await store.contexts.appendBatch(id, batch, toAppendOptions(options));
        for (const turn of turns) {
          await (io.json ? io.printJson(turn) : world.out(`${turn.id}\n`));
        }
      }),
    );
}
