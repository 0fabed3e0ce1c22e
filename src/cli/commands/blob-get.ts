import type { Command } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import { openOutput } from '../output.ts';
import { parseCount } from '../parse-argument.ts';
import type { World } from '../world.ts';

interface Options {
  readonly out?: string;
  readonly start?: number;
  readonly end?: number;
}

export function blobGet(world: World): Command {
  return defineCommand('get', "Print a blob's bytes, checked against its hash.", [
    'quipu blob get $hash > build.log',
    'quipu blob get blob:sha256:$sum --out build.log',
    'quipu blob get $hash --start 0 --end 100',
  ])
    .argument('<blob>', 'the hash, b3:<hash> or blob:sha256:<hex>')
    .option('--out <file>', 'write to this file; it appears when it is complete')
    .option('--start <n>', 'first byte (default: 0)', parseCount)
    .option('--end <n>', 'byte to stop before (default: the end)', parseCount)
    .action(
      withIo(world, async (io, ref: string, options: Options) => {
        const { start, end } = options;
        await using store = await io.openStore();
        await using output = await openOutput(world, options.out);
        const pieces = store.blobs.stream(ref, {
          ...(start !== undefined && { start }),
          ...(end !== undefined && { end }),
        });
        for await (const piece of pieces) await output.write(piece);
        await output.complete();
      }),
    );
}
