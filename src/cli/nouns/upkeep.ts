import { given } from '../../base/given.ts';
import { isAbsolute, resolve } from 'node:path';
import { QuipuError, invalid } from '../../base/errors.ts';
import { parsePlace } from '../../base/place.ts';
import type { BackupReport } from '../../engine/upkeep.ts';
import type { GcReport } from '../../maintain/collect-garbage.ts';
import type { RetainReport } from '../../maintain/retain-contexts.ts';
import type { VerifyReport } from '../../maintain/verify-store.ts';
import { type QuipuVerb, quipuVerb, withProgress } from '../kit/command.ts';
import { parseCount, parseDuration, parseSize } from '../kit/parse.ts';
import { toFacts, toSize, toTable, toTime, type Fact } from '../kit/text.ts';
import { argument, option } from '../kit/verb.ts';

const UNREAD_HINT =
  'Until these can be read, every blob with a SHA-256 stays. Bring the files back, or forget sessions whose files are gone: quipu session gc --forget-missing\n';

export const gc: QuipuVerb = quipuVerb({
  name: 'gc',
  summary: 'Remove data that no context, thread, pin or patch uses any more.',
  examples: ['quipu gc --dry-run', 'quipu gc', 'quipu gc --grace 0 --all'],
  takes: [
    option('--dry-run', 'only show what would be removed'),
    option('--grace <time>', 'spare blobs younger than this (default: 10m)', parseDuration),
    option('--all', 'also rewrite packs that are mostly in use, to free every unused byte'),
  ],
  async give(io, { grace: graceMs, ...options }) {
    const { shell } = io;
    const { maintain } = await io.openStore();
    const report = await withProgress(shell, (progress) =>
      maintain.gc({ ...options, progress, ...given({ graceMs }) }),
    );
    for (const what of report.unread) shell.err(`${what}\n`);
    if (report.unread.length > 0) shell.err(UNREAD_HINT);
    return report;
  },
  show: (report) => toFacts(factsOf(report)),
});

function factsOf(report: GcReport): Fact[] {
  const { liveBlobs, deadBlobs, deadBytes, youngBlobs, removedBlobs, skippedForSpace } = report;
  const facts: Fact[] = [
    ['in use', `${liveBlobs} blobs`],
    ['spared as young', `${youngBlobs} blobs`],
  ];
  if (report.dryRun) return [...facts, ['would go', `${deadBlobs} blobs, ${toSize(deadBytes)}`]];
  return [
    ...facts,
    ['removed', `${removedBlobs} blobs, ${toSize(report.freedBytes)} freed`],
    ['dead but kept', toSize(report.keptDeadBytes)],
    ['left for lack of room', skippedForSpace > 0 ? `${skippedForSpace} packs` : undefined],
  ];
}

export const verify: QuipuVerb = quipuVerb({
  name: 'verify',
  summary: 'Read everything and check every checksum, hash and link.',
  examples: ['quipu verify', 'quipu verify --json', 'quipu verify --repair'],
  more: 'A repair deletes nothing without a copy.',
  exits: '0 all can be read, 1 it cannot',
  takes: [
    option('--repair', 'rebuild what can be rebuilt, and copy damaged records to quarantine/'),
  ],
  async run(io, { repair = false }) {
    const { maintain } = await io.openStore();
    const report = await withProgress(io.shell, (progress) =>
      maintain.verify({ repair, progress }),
    );
    await io.print(report, toText);
    if (!report.ok) throw notClean(report);
  },
});

function toText({ checked, problems, more, quarantined }: VerifyReport): string {
  const facts = toFacts([
    ['contexts', checked.contexts],
    ['turns', checked.turns],
    ['patches', checked.patches],
    ['blobs', checked.blobs],
    ['logs', checked.logs],
    ['docs', checked.docs],
    ['read', toSize(checked.bytes)],
    ['problems', problems.length + more],
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

export const backup: QuipuVerb = quipuVerb({
  name: 'backup',
  summary: 'Copy the store into a folder; later runs copy what is new.',
  examples: ['quipu backup ../quipu-backup'],
  takes: [argument('<dir>', 'the folder; empty, missing, or a backup of this store')],
  async give(io, dir) {
    const { shell } = io;
    if (parsePlace(io.place).kind === 'server' && !isAbsolute(dir)) {
      throw invalid('<dir>', "is on the server's machine, so it must be an absolute path there");
    }
    const { maintain } = await io.openStore();
    return withProgress(shell, (progress) => maintain.backup(resolve(shell.cwd, dir), progress));
  },
  show: toBackupFacts,
});

export const restore: QuipuVerb = quipuVerb({
  name: 'restore',
  summary: 'Make a store from a backup, in a folder that is not there yet.',
  examples: ['quipu restore ../quipu-backup ./restored'],
  takes: [
    argument('<backup>', 'the folder that "quipu backup" wrote'),
    argument('<dir>', 'new folder for the store; nothing is overwritten'),
  ],
  give: ({ shell }, from, to) =>
    withProgress(shell, (progress) =>
      shell.restoreStore(resolve(shell.cwd, from), resolve(shell.cwd, to), progress),
    ),
  show: toBackupFacts,
});

export const retain: QuipuVerb = quipuVerb({
  name: 'retain',
  summary: 'Remove contexts by age and size; "quipu gc" then frees them.',
  examples: [
    'quipu retain --max-age 90d --dry-run',
    'quipu retain --max-age 90d --max-size 2GB --label run',
  ],
  more: 'Contexts with the label "pinned" or with {"pinned":true} stay.',
  takes: [
    option('--max-age <time>', 'remove contexts not used for this long', parseDuration),
    option('--max-size <size>', 'remove the oldest until the rest fits', parseSize),
    option('--label <word>', 'look only at contexts with this label'),
    option('--keep <n>', 'always keep this many of the newest', parseCount),
    option('--dry-run', 'only show which would be removed'),
  ],
  async give(io, { maxAge: maxAgeMs, maxSize: maxBytes, dryRun = false, ...policy }) {
    const { maintain } = await io.openStore();
    return maintain.retain({ ...policy, ...given({ maxAgeMs, maxBytes }) }, { dryRun });
  },
  show: retainToText,
});

function retainToText({ removed, kept, pinned, dryRun }: RetainReport): string {
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

/** The result of a backup or a restore, for people. */
function toBackupFacts({ files, copiedBytes, reusedBytes }: BackupReport): string {
  return toFacts([
    ['files', files],
    ['copied', toSize(copiedBytes)],
    ['there before', toSize(reusedBytes)],
  ]);
}
