import type { Command } from 'commander';
import type { TidyReport } from '../../session/sessions.ts';
import { defineCommand, withIo } from '../command.ts';
import { parseDuration, parseSize } from '../parse-amount.ts';
import { toSize } from '../quantity.ts';
import type { World } from '../world.ts';

interface Options {
  readonly maxAge?: number;
  readonly maxSize?: number;
  readonly forgetMissing?: boolean;
  readonly drafts?: boolean;
  readonly dryRun?: boolean;
}

export function sessionGc(world: World): Command {
  return defineCommand('gc', 'Say what sessions take, and remove what you ask to be removed.', [
    'quipu session gc',
    'quipu session gc --max-age 90d --max-size 2GB --dry-run',
  ])
    .option('--max-age <time>', 'remove sessions whose last entry is older', parseDuration)
    .option('--max-size <size>', 'remove the oldest until the rest fits', parseSize)
    .option('--forget-missing', 'forget sessions whose file is gone, and let go of their blobs')
    .option('--drafts', 'remove unfinished files; only while no agent is at work')
    .option('--dry-run', 'only say what would go')
    .addHelpText('after', '\nWithout options nothing goes. Blobs are freed by "quipu gc".')
    .action(
      withIo(world, async (io, options: Options) => {
        const { maxAge, maxSize, forgetMissing = false, drafts = false, dryRun = false } = options;
        await using store = await io.openStore();
        const report = await store.sessions.tidy({
          forgetMissing,
          drafts,
          dryRun,
          ...(maxAge !== undefined && { maxAgeMs: maxAge }),
          ...(maxSize !== undefined && { maxBytes: maxSize }),
        });
        await (io.json ? io.printJson({ ...report, dryRun }) : world.out(toText(report, dryRun)));
      }),
    );
}

function toText(report: TidyReport, dryRun: boolean): string {
  const { sessions, bytes, removed, missing, forgotten, drafts } = report;
  const verb = dryRun ? 'would go' : 'removed';
  const lines = removed.map(({ id, bytes: size }) => `${id}  ${toSize(size)}`);
  const gone = missing.map(({ id, file }) => `${id}  missing: ${file}`);
  const sum = `${sessions} sessions, ${toSize(bytes)}; ${removed.length} ${verb}`;
  const rest = `${missing.length} missing, ${forgotten} forgotten, ${drafts} drafts`;
  return `${[...lines, ...gone, `${sum}, ${rest}`].join('\n')}\n`;
}
