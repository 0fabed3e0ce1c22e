import { isAbsolute, resolve } from 'node:path';
import { QuipuError, invalid, isQuipuError } from '../../base/errors.ts';
import { given } from '../../base/given.ts';
import { parsePlace } from '../../base/place.ts';
import type { CopyReport, LeftOut } from '../../copy-store.ts';
import type { BackupReport } from '../../engine/upkeep.ts';
import type { GcReport } from '../../maintain/collect-garbage.ts';
import type { RetainReport } from '../../maintain/retain-contexts.ts';
import type { VerifyReport } from '../../maintain/verify-store.ts';
import { nameOfPlace } from '../../postgres/address.ts';
import type { Stats } from '../../store/maintain.ts';
import { doctor } from '../doctor/doctor.ts';
import { quipuVerb, toAbsolute, withProgress } from '../kit/command.ts';
import type { CommandIo, QuipuVerb } from '../kit/command.ts';
import { parseCount, parseDuration, parseSize } from '../kit/parse.ts';
import { readVersion } from '../kit/process.ts';
import { Interrupted } from '../kit/report-error.ts';
import { toFacts, toSize, toTable, toTime, type Fact } from '../kit/text.ts';
import { argument, option } from '../kit/verb.ts';
import { serve } from './serve.ts';
import { ui } from './ui.ts';

const UNREAD_HINT =
  'Until these can be read, every blob with a SHA-256 stays. Bring the files back, or forget sessions whose files are gone: quipu session gc --forget-missing\n';

const init = quipuVerb({
  name: 'init',
  summary: 'Create a store and print its place.',
  examples: ['quipu init', 'quipu init --store ~/.quipu'],
  async run(io) {
    const { shell } = io;
    const created = await createOnce(io);
    const store = nameOfPlace(io.newPlace);
    if (io.json) return await io.printJson({ store, created });
    if (!created) shell.err('quipu: it was there before\n');
    return await shell.out(`${store}\n`);
  },
});

const stats = quipuVerb({
  name: 'stats',
  summary: 'Show counts, sizes and how much sharing and compression save.',
  examples: ['quipu stats', 'quipu stats --json'],
  async run(io) {
    const found = await (await io.openStore()).maintain.stats();
    await io.print(found, () => toStatsFacts(nameOfPlace(io.place), found));
  },
});

/** The verbs with which a store begins. */
export const firstVerbs: readonly QuipuVerb[] = [
  init,
  serve,
  quipuVerb({
    name: 'mcp',
    summary: 'Let an MCP client search and read the store, over standard input and output.',
    more: [
      'A client starts this command by itself. It ends when its standard input does.',
      'For clients on other machines: quipu serve --mcp, which answers at /mcp under its tokens.',
    ].join('\n'),
    examples: ['quipu mcp < /dev/null', 'quipu mcp --allow-writes --store ./.quipu < /dev/null'],
    takes: [option('--allow-writes', 'also offer the tools that fork threads and append notes')],
    async run(io, { allowWrites = false }) {
      const signal = io.shell.catchInterrupt();
      const store = await (allowWrites ? io.createStore() : io.openStore());
      // Few commands need the protocol, so it is loaded here.
      const { serveStdio } = await import('../../mcp/serve-stdio.ts');
      await serveStdio(store, { allowWrites, version: readVersion() }, signal);
    },
  }),
  ui,
];

/** As the verbs of a thing are called elsewhere. */
export const guessedVerbs: readonly QuipuVerb[] = [
  { ...init, name: 'create' },
  { ...stats, name: 'show' },
];

export const upkeepVerbs: readonly QuipuVerb[] = [
  stats,
  quipuVerb({
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
  }),
  quipuVerb({
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
  }),
  quipuVerb({
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
  }),
  quipuVerb({
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
  }),
  quipuVerb({
    name: 'copy',
    summary:
      'Make one store a copy of another, with the same ids, and compare them. To continue after an interruption, run it again.',
    examples: [
      'quipu copy ./.quipu ../quipu-copy',
      'quipu copy ./.quipu postgres://quipu@db.example/quipu',
      'quipu copy postgres://quipu@db.example/quipu ./local --json',
    ],
    takes: [
      argument('<from>', 'a folder or postgres://…; stop all programs that use it first'),
      argument('<to>', 'a place without a store, or the rest of an interrupted run'),
    ],
    async give(io, from, to) {
      const { shell } = io;
      const signal = shell.catchInterrupt();
      const onLeftOut = (leftOut: readonly LeftOut[]): void => {
        if (!io.json) for (const item of leftOut) shell.err(toNote(item));
      };
      return withProgress(shell, (progress) =>
        shell
          .copyStore(toAbsolute(shell.cwd, from), toAbsolute(shell.cwd, to), {
            progress,
            signal,
            onLeftOut,
          })
          .catch((error: unknown) => {
            if (!signal.aborted) throw error;
            throw new Interrupted('stopped; the same command goes on from here');
          }),
      );
    },
    show: toCopyFacts,
  }),
  quipuVerb({
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
  }),
  quipuVerb({
    name: 'checkpoint',
    summary: 'Empty the journal into the files, so that opening is fast.',
    examples: ['quipu checkpoint'],
    async give(io) {
      await (await io.openStore()).maintain.checkpoint();
      return { checkpointed: true };
    },
  }),
  quipuVerb({
    name: 'reindex',
    summary: 'Rebuild the index from the data of the store.',
    examples: ['quipu reindex'],
    async give(io) {
      const { maintain } = await io.openStore();
      await withProgress(io.shell, (report) => maintain.reindex(report));
      return { reindexed: true };
    },
  }),
  doctor,
];

/** Returns false when there is a store already, which is then only looked at. */
async function createOnce(io: CommandIo): Promise<boolean> {
  try {
    await (await io.openStore(io.newPlace)).close();
    return false;
  } catch (error) {
    if (!isQuipuError(error, 'NOT_FOUND')) throw error;
  }
  await (await io.createStore(io.newPlace)).close();
  return true;
}

function toStatsFacts(place: string, found: Stats): string {
  return toFacts([
    ['store', place],
    ['engine', `${found.engine}, ${found.durability}`],
    ['contexts', found.contexts],
    ['turns', found.turns],
    ['patches', found.patches],
    ['payloads', `${toSize(found.logicalBytes)} written`],
    ['blobs', `${found.blobs}, ${toSize(found.blobBytes)} as ${toSize(found.storedBytes)}`],
    ['sharing', `${found.sharingRatio.toFixed(2)} bytes of payloads per byte of blobs`],
    ['compression', `${found.compressionRatio.toFixed(2)} bytes of blobs per byte on disk`],
    ['logs', found.logs],
    ['docs', found.docs],
    ['on disk', toSize(found.diskBytes)],
    ['last backup', found.lastBackup && new Date(found.lastBackup.at).toISOString()],
  ]);
}

function toNote({ what, count, why }: LeftOut): string {
  return `not copied: ${what} (${count}): ${why}\n`;
}

function toCopyFacts(report: CopyReport): string {
  const { turns, contexts, patches, blobs, blobBytes, logLines, docs } = report;
  return toFacts([
    ['turns', turns],
    ['contexts', contexts],
    ['patches', patches],
    ['blobs', `${blobs}, ${toSize(blobBytes)}`],
    ['log lines', logLines],
    ['documents', docs],
    ['queues', `${report.queues}, ${report.queueEvents} events`],
    ['compared', 'equal'],
  ]);
}

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
