import type { Command } from 'commander';
import type { GcReport } from '../../maintain/gc-report.ts';
import { defineCommand, withIo } from '../command.ts';
import { parseDuration } from '../parse-amount.ts';
import { toSize } from '../quantity.ts';
import { toFacts } from '../table.ts';
import { withProgress } from '../with-progress.ts';
import type { World } from '../world.ts';

interface Options {
  readonly dryRun?: boolean;
  readonly grace?: number;
  readonly all?: boolean;
}

const UNREAD_HINT =
  'Until these can be read, every blob with a SHA-256 stays. Bring the files back, or forget sessions whose files are gone: quipu session gc --forget-missing\n';

export function gc(world: World): Command {
  return defineCommand('gc', 'Free what no context, thread, pin or patch leads to any more.', [
    'quipu gc --dry-run',
    'quipu gc',
    'quipu gc --grace 0 --all',
  ])
    .option('--dry-run', 'only say what would go')
    .option('--grace <time>', 'spare blobs younger than this (default: 10m)', parseDuration)
    .option('--all', 'also rewrite packs that are mostly alive, for the last dead byte')
    .action(
      withIo(world, async (io, { dryRun = false, grace, all = false }: Options) => {
        await using store = await io.openStore();
        const report = await withProgress(world, (progress) =>
          store.maintain.gc({
            dryRun,
            all,
            progress,
            ...(grace !== undefined && { graceMs: grace }),
          }),
        );
        for (const what of report.unread) world.err(`${what}\n`);
        if (report.unread.length > 0) world.err(UNREAD_HINT);
        await (io.json ? io.printJson(report) : world.out(toFacts(factsOf(report))));
      }),
    );
}

function factsOf(report: GcReport): [string, string][] {
  const { liveBlobs, deadBlobs, deadBytes, youngBlobs, removedBlobs, freedBytes } = report;
  const facts: [string, string][] = [
    ['in use', `${liveBlobs} blobs`],
    ['spared as young', `${youngBlobs} blobs`],
  ];
  if (report.dryRun) return [...facts, ['would go', `${deadBlobs} blobs, ${toSize(deadBytes)}`]];
  facts.push(['removed', `${removedBlobs} blobs, ${toSize(freedBytes)} freed`]);
  facts.push(['dead but kept', toSize(report.keptDeadBytes)]);
  if (report.skippedForSpace > 0) {
    facts.push(['left for lack of room', `${report.skippedForSpace} packs`]);
  }
  return facts;
}
