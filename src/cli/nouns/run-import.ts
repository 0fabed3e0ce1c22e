import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseJsonObject } from '../../base/fields.ts';
import { invalid, isQuipuError, notFound } from '../../base/errors.ts';
import {
  findHistories,
  lookAt,
  importHistory,
  followHistory,
} from '../../import/import-history.ts';
import type { FoundHistory } from '../../import/import-history.ts';
import type { ImportReport } from '../../import/keep/import-report.ts';
import { SOURCES } from '../../import/sources/all-sources.ts';
import type { Machine, Source } from '../../import/source/source.ts';
import type { Store } from '../../store/store.ts';
import { withProgress, type CommandIo, type QuipuShell } from '../kit/command.ts';
import { Interrupted } from '../kit/report-error.ts';
import { toFacts, toSize, toTable, toTime } from '../kit/text.ts';
import { isPrices, sumUsage } from '../../import/sum-usage.ts';
import type { Prices, UsageBy, UsageSum } from '../../import/sum-usage.ts';
import { readInput, readWhole } from '../kit/files.ts';

export interface ImportGiven {
  readonly from?: string;
  readonly since?: (now: number) => number;
  readonly project?: string;
  readonly dryRun?: boolean;
  readonly follow?: boolean;
  readonly yes?: boolean;
}

export async function runImport(
  io: CommandIo,
  path: string | undefined,
  given: ImportGiven,
): Promise<void> {
  const { shell } = io;
  const histories = await findAll(io, path, given.from);
  if (histories.length === 0) throw nothingFound(shell, path, given.from);
  const asks = shell.isTerminal && !io.json && given.from === undefined && given.yes !== true;
  if (!io.json) shell.err(toHistoryTable(histories));
  if (asks && given.dryRun !== true && !(await agrees(shell, io.place))) return;
  await withStore(io, given.dryRun === true, async (store) => {
    for (const history of histories) {
      const report = await importOne(io, store, history, given);
      if (path !== undefined && given.project === undefined && isStrange(report)) {
        const { title } = history.source;
        shell.err(`found no new message of ${title} there; if there are some, check --from\n`);
      }
    }
    if (given.follow === true && given.dryRun !== true) await followAll(io, store, histories);
  });
}

async function findAll(
  { shell }: CommandIo,
  path: string | undefined,
  from: string | undefined,
): Promise<readonly FoundHistory[]> {
  const machine = { env: shell.env, home: shell.home };
  const source = SOURCES.find(({ name }) => name === from);
  if (path !== undefined) {
    if (source === undefined)
      throw invalid(
        '--from',
        `is missing; say whose history ${path} is: ${SOURCES.map(({ name }) => name).join(', ')}`,
      );
    return [await lookAt(source, resolve(shell.cwd, path))].filter(({ sessions }) => sessions > 0);
  }
  return findHistories(source === undefined ? SOURCES : [source], machine);
}

function nothingFound({ env, home }: Machine, path: string | undefined, from = '<agent>'): Error {
  if (path !== undefined) {
    return notFound('history', path, `found no sessions of ${from} at ${path}`);
  }
  const source = SOURCES.find(({ name }) => name === from);
  const homes = (source === undefined ? SOURCES : [source]).flatMap((one) =>
    one.homes({ env, home }),
  );
  const looked = homes.length === 0 ? `${from} has no fixed place` : `not in ${homes.join(', ')}`;
  const message = `found no sessions: ${looked}; name a file or folder: quipu import --from ${from} <path>`;
  return notFound('history', from, message);
}

function toHistoryTable(histories: readonly FoundHistory[]): string {
  const rows = histories.map(({ source, sessions, bytes, newestMs, place }) => [
    source.title,
    String(sessions),
    toSize(bytes),
    toTime(newestMs),
    place,
  ]);
  return toTable(['agent', 'sessions', 'size', 'newest', 'from'], rows, ['sessions', 'size']);
}

async function agrees(shell: QuipuShell, place: string): Promise<boolean> {
  shell.err(`Import this into ${place}? [Y/n] `);
  let answer = '';
  for await (const piece of shell.stdin) {
    answer += Buffer.from(piece).toString('utf8');
    if (answer.includes('\n')) break;
  }
  return /^\s*(?:y(?:es)?)?\s*$/i.test(answer.split('\n')[0] ?? '');
}

/** A dry run needs no store: without one, everything is new. */
async function withStore(
  io: CommandIo,
  dryRun: boolean,
  work: (store: Store) => Promise<void>,
): Promise<void> {
  if (!dryRun) {
    await using store = await io.createStore();
    return await work(store);
  }
  try {
    await using store = await io.openStore();
    return await work(store);
  } catch (error) {
    if (!isQuipuError(error, 'NOT_FOUND') || error.data.what !== 'store') throw error;
  }
  const folder = await mkdtemp(join(tmpdir(), 'quipu-dry-run-'));
  try {
    await using store = await io.createStore(join(folder, 'store'));
    await work(store);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function importOne(
  io: CommandIo,
  store: Store,
  { source, place }: FoundHistory,
  given: ImportGiven,
): Promise<ImportReport> {
  const { shell } = io;
  const signal = shell.catchInterrupt();
  const { project, since, dryRun = false } = given;
  const report = await withProgress(shell, (progress) =>
    importHistory(store, source, {
      place,
      dryRun,
      signal,
      progress,
      ...(project !== undefined && { project: resolve(shell.cwd, project) }),
      ...(since !== undefined && { since: since(shell.now()) }),
    }).catch((error: unknown) => {
      if (!signal.aborted) throw error;
      throw new Interrupted('stopped; the same command goes on from here');
    }),
  );
  await io.print({ ...report, dryRun }, () => toReport(source, report, dryRun));
  for (const { path, why } of report.failed) shell.err(`not read: ${path}: ${why}\n`);
  return report;
}

/** Files were read, and no message is in them: they may be of another program. */
function isStrange({ files, unchanged, turns, failed }: ImportReport): boolean {
  return turns === 0 && files - unchanged > failed.length;
}

/** One line of status, for all agents. */
async function followAll(
  io: CommandIo,
  store: Store,
  histories: readonly FoundHistory[],
): Promise<void> {
  const { shell, json } = io;
  const signal = shell.catchInterrupt();
  const turns = new Map<string, number>();
  const show = (source: Source, report: ImportReport): void => {
    turns.set(source.name, report.turns);
    const sum = [...turns.values()].reduce((total, count) => total + count, 0);
    const time = toTime(shell.now());
    if (shell.isTerminal && !json) shell.status(`following, ${sum} new turns, ${time}`);
  };
  const reports = await Promise.all(
    histories.map(({ source, place }) =>
      followHistory(store, source, { place, signal, onLook: (report) => show(source, report) }),
    ),
  );
  if (shell.isTerminal && !json) shell.err('\n');
  if (json) for (const report of reports) await io.printJson(report);
}

function toReport({ title }: Source, report: ImportReport, dryRun: boolean): string {
  const { files, unchanged, sessions, turns, forks, blobs, blobsShared, asides } = report;
  const notes = [
    [report.bad, 'bad lines kept aside'],
    [report.recovered, 'records saved from torn lines'],
    [report.tails, 'files whose last line is not complete'],
    [report.replaced, 'lines that are not UTF-8'],
    [report.long, 'lines too long to be read, kept as blobs'],
    [report.unlinked, 'records without their parent'],
    [report.future, 'records from the future'],
  ] as const;
  return toFacts([
    [title, dryRun ? 'nothing is written' : 'imported'],
    ['files', `${files}, ${unchanged} of them unchanged`],
    ['sessions', sessions],
    ['turns', `${turns}, and ${asides} other records`],
    ['forks', forks],
    ['blobs', `${blobs}, ${blobsShared} of them shared`],
    ['bytes', `${toSize(report.bytesIn)} in, ${toSize(report.bytesStored)} stored`],
    ...notes
      .filter(([count]) => count > 0)
      .map(([count, what]) => ['', `${what}: ${count}`] as const),
  ]);
}

export interface UsageGiven {
  readonly by?: UsageBy;
  readonly since?: (now: number) => number;
  readonly prices?: string;
}

export async function runUsage(io: CommandIo, given: UsageGiven): Promise<void> {
  const { by = 'day', since } = given;
  const prices = given.prices === undefined ? undefined : await readPrices(io, given.prices);
  const store = await io.openStore();
  const sums = await sumUsage(store, SOURCES, {
    by,
    ...(since !== undefined && {
      since: new Date(since(io.shell.now())).toISOString().slice(0, 10),
    }),
    ...(prices !== undefined && { prices }),
  });
  await io.printRows(sums, (rows) => toUsageTable(by, rows, prices !== undefined));
}

const PRICES_BYTES_MAX = 1024 * 1024;

async function readPrices({ shell }: CommandIo, path: string): Promise<Prices> {
  const bytes = await readWhole(readInput(shell, path), PRICES_BYTES_MAX);
  const value = parseJsonObject(Buffer.from(bytes).toString('utf8'));
  if (isPrices(value)) return value;
  throw invalid('prices', 'must be a JSON object: {"<model>": {"input": 3, "output": 15}}');
}

function toUsageTable(by: UsageBy, sums: readonly UsageSum[], hasCost: boolean): string {
  const counts = ['turns', 'input', 'output', 'cache read', 'cache write'];
  const headings = [by, ...counts, ...(hasCost ? ['cost'] : [])];
  const rows = sums.map(({ of, turns, input, output, cacheRead, cacheWrite, cost }) => [
    of,
    ...[turns, input, output, cacheRead, cacheWrite].map(String),
    ...(hasCost ? [cost === undefined ? 'unknown' : cost.toFixed(2)] : []),
  ]);
  return toTable(headings, rows, [...counts, 'cost']);
}
