import type { Command } from 'commander';
import type { RetainReport } from '../../maintain/retain-contexts.ts';
import { defineCommand, withIo } from '../command.ts';
import { parseDuration, parseSize } from '../parse-amount.ts';
import { parseCount } from '../parse-argument.ts';
import { toSize, toTime } from '../quantity.ts';
import { toTable } from '../table.ts';
import type { World } from '../world.ts';

interface Options {
  readonly maxAge?: number;
  readonly maxSize?: number;
  readonly label?: string;
  readonly keep?: number;
  readonly dryRun?: boolean;
}

export function retain(world: World): Command {
  return defineCommand('retain', 'Remove contexts by age and size; "quipu gc" then frees them.', [
    'quipu retain --max-age 90d --dry-run',
    'quipu retain --max-age 90d --max-size 2GB --label run',
  ])
    .option('--max-age <time>', 'remove contexts not used for this long', parseDuration)
    .option('--max-size <size>', 'remove the oldest until the rest fits', parseSize)
    .option('--label <word>', 'look only at contexts with this label')
    .option('--keep <n>', 'so many of the newest stay in any case', parseCount)
    .option('--dry-run', 'only say which would go')
    .addHelpText('after', '\nContexts with the label "pinned" or with {"pinned":true} stay.')
    .action(
      withIo(world, async (io, options: Options) => {
        const { maxAge, maxSize, label, keep, dryRun = false } = options;
        await using store = await io.openStore();
        const policy = {
          ...(maxAge !== undefined && { maxAgeMs: maxAge }),
          ...(maxSize !== undefined && { maxBytes: maxSize }),
          ...(label !== undefined && { label }),
          ...(keep !== undefined && { keep }),
        };
        const report = await store.maintain.retain(policy, { dryRun });
        await (io.json ? io.printJson(toJson(report)) : world.out(toText(report)));
      }),
    );
}

function toJson(report: RetainReport): object {
  return { ...report, removed: report.removed.map((row) => ({ ...row, id: String(row.id) })) };
}

function toText({ removed, kept, pinned, dryRun }: RetainReport): string {
  const rows = removed.map(({ id, updatedAt, bytes, title = '' }) => [
    String(id),
    toTime(updatedAt),
    toSize(bytes),
    title,
  ]);
  const table =
    rows.length === 0
      ? ''
      : toTable(['CONTEXT', 'UPDATED', 'SIZE', 'TITLE'], rows, ['CONTEXT', 'SIZE']);
  const verb = dryRun ? 'would go' : 'removed';
  return `${table}${removed.length} ${verb}, ${kept} stay, ${pinned} of them pinned\n`;
}
