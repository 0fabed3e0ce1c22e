import type { Command } from 'commander';
import { QuipuError } from '../../base/errors.ts';
import type { VerifyReport } from '../../maintain/verify-store.ts';
import { defineCommand, withIo } from '../command.ts';
import { toSize } from '../quantity.ts';
import { toFacts, toTable } from '../table.ts';
import { withProgress } from '../with-progress.ts';
import type { World } from '../world.ts';

export function verify(world: World): Command {
  return defineCommand('verify', 'Read everything and check every checksum, hash and link.', [
    'quipu verify',
    'quipu verify --json',
    'quipu verify --repair',
  ])
    .option('--repair', 'make again what can be made again, copy damaged records to quarantine/')
    .addHelpText(
      'after',
      '\nExit code 0: all can be read. 1: it cannot. Nothing is deleted that is not copied before.',
    )
    .action(
      withIo(world, async (io, { repair = false }: { readonly repair?: boolean }) => {
        await using store = await io.openStore();
        const report = await withProgress(world, (progress) =>
          store.maintain.verify({ repair, progress }),
        );
        await (io.json ? io.printJson(report) : world.out(toText(report)));
        if (!report.ok) throw notClean(report);
      }),
    );
}

function toText({ checked, problems, more, quarantined }: VerifyReport): string {
  const facts = toFacts([
    ['contexts', String(checked.contexts)],
    ['turns', String(checked.turns)],
    ['patches', String(checked.patches)],
    ['blobs', String(checked.blobs)],
    ['logs', String(checked.logs)],
    ['docs', String(checked.docs)],
    ['read', toSize(checked.bytes)],
    ['problems', String(problems.length + more)],
    ...quarantined.map((file) => ['set aside', file] as const),
  ]);
  if (problems.length === 0) return facts;
  const rows = problems.map(({ severity, file, offset, id = '', what }) => [
    severity,
    file,
    String(offset),
    id,
    what,
  ]);
  const table = toTable(['HOW BAD', 'FILE', 'OFFSET', 'ID', 'WHAT'], rows, ['OFFSET']);
  return `${facts}\n${table}${more > 0 ? `and ${more} more\n` : ''}`;
}

function notClean({ problems, more }: VerifyReport): QuipuError<'CORRUPT'> {
  const count = problems.length + more;
  const lost = problems.filter(({ severity }) => severity === 'lost').length;
  const advice =
    lost === 0 && more === 0
      ? 'nothing is lost: quipu verify --repair mends it'
      : 'restore what is lost from a backup';
  const { file = '', offset = 0 } = problems[0] ?? {};
  const message = `the store has ${count} ${count === 1 ? 'problem' : 'problems'}; ${advice}`;
  return new QuipuError('CORRUPT', message, { file, offset });
}
