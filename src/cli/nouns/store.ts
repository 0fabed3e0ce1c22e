import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { serve } from './serve.ts';
import { ui } from './ui.ts';
import { backup, gc, restore, retain, verify } from './upkeep.ts';
import { isQuipuError, messageOf } from '../../base/errors.ts';
import type { CopyReport, LeftOut } from '../../copy-store.ts';
import { nameOfPlace } from '../../postgres/address.ts';
import type { Stats } from '../../store/maintain.ts';
import type { CommandIo, QuipuVerb } from '../kit/command.ts';
import { isAddress, quipuVerb, toAbsolute, withProgress } from '../kit/command.ts';
import {
  checkClock,
  checkDisk,
  checkNative,
  checkNode,
  checkOpenFiles,
} from '../doctor/check-machine.ts';
import { checkHealth, checkOpen, checkSocket } from '../doctor/check-server.ts';
import { fail, ok, toFindingsTable, warn, type Finding } from '../doctor/finding.ts';
import { Interrupted, Unhealthy } from '../kit/report-error.ts';
import { toFacts, toSize } from '../kit/text.ts';
import { argument, option } from '../kit/verb.ts';
import { readVersion } from '../kit/process.ts';

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

const stats = quipuVerb({
  name: 'stats',
  summary: 'Show counts, sizes and how much sharing and compression save.',
  examples: ['quipu stats', 'quipu stats --json'],
  async run(io) {
    const found = await (await io.openStore()).maintain.stats();
    await io.print(found, () => toStatsFacts(nameOfPlace(io.place), found));
  },
});

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

const copy = quipuVerb({
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
});

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

const doctor = quipuVerb({
  name: 'doctor',
  summary: 'Check a store, this machine or a server, and print what to do.',
  examples: ['quipu doctor', 'quipu doctor --server quipu://127.0.0.1:7411', 'quipu doctor --json'],
  exits: '0 nothing failed, 1 something did, and the line says what to do',
  takes: [option('--server <address>', 'look at this server instead of a store')],
  async run(io, { server }) {
    const place = server ?? io.place;
    const machine = await lookAtMachine(io);
    const broken = machine.some(({ grade }) => grade === 'fail');
    const ofStore = broken
      ? [warn('store', 'not looked at', 'mend what failed above first')]
      : isAddress(place)
        ? await lookAtServer(io, place)
        : await lookAtFolder(io, place);
    const findings = [...machine, ...ofStore];
    await io.printRows(findings, toFindingsTable);
    const failed = findings.filter(({ grade }) => grade === 'fail').length;
    if (failed > 0) throw new Unhealthy(`${failed} ${failed === 1 ? 'check' : 'checks'} failed`);
  },
});

/** Checks the things that must work before any module of a store can be loaded. */
async function lookAtMachine({ shell }: CommandIo): Promise<readonly Finding[]> {
  const { machine } = shell;
  return [
    checkNode(machine),
    ...(await checkNative()),
    checkOpenFiles(machine),
    checkClock(shell.now()),
  ];
}

async function lookAtServer(io: CommandIo, address: string): Promise<readonly Finding[]> {
  const health = /^https?:/i.test(address) ? [await checkHealth(address, readVersion())] : [];
  if (health.some(({ grade }) => grade === 'fail')) return health;
  return [...health, ...(await checkOpen(() => io.openStore(address)))];
}

async function lookAtFolder(io: CommandIo, folder: string): Promise<readonly Finding[]> {
  const disk = await looking('disk', () => checkDisk(folder));
  if (!existsSync(join(folder, 'FORMAT'))) {
    const found = existsSync(folder) ? `${folder} is not a store` : `there is none at ${folder}`;
    return [...disk, warn('store', found, 'create one with: quipu init, or name it with --store')];
  }
  // This module is loaded here: it hashes, and cannot be loaded where hashing does not work.
  const { checkFormat, checkJournal, checkOwner, checkPermissions, checkTokens } =
    await import('../doctor/check-folder.ts');
  const { machine } = io.shell;
  const now = io.shell.now();
  return [
    ok('store', folder),
    ...disk,
    ...(await looking('permissions', () => checkPermissions(folder, machine))),
    ...(await looking('format', () => checkFormat(folder, now))),
    ...(await looking('journal', () => checkJournal(folder))),
    ...(await looking('owner', () => checkOwner(folder, machine))),
    ...(await looking('socket', () => checkSocket(folder))),
    ...(await looking('tokens', () => checkTokens(folder, now))),
    ...(await checkOpen(() => io.openStore(folder))),
  ];
}

/** A check that fails is a finding, too, and must not hide the others. */
async function looking(
  check: string,
  look: () => Promise<Finding | readonly Finding[]>,
): Promise<readonly Finding[]> {
  try {
    return [await look()].flat();
  } catch (error) {
    return [fail(check, `cannot be looked at: ${messageOf(error)}`, 'check the owner and mode')];
  }
}

const checkpoint = quipuVerb({
  name: 'checkpoint',
  summary: 'Empty the journal into the files, so that opening is fast.',
  examples: ['quipu checkpoint'],
  async give(io) {
    await (await io.openStore()).maintain.checkpoint();
    return { checkpointed: true };
  },
});

const reindex = quipuVerb({
  name: 'reindex',
  summary: 'Rebuild the index from the data of the store.',
  examples: ['quipu reindex'],
  async give(io) {
    const { maintain } = await io.openStore();
    await withProgress(io.shell, (report) => maintain.reindex(report));
    return { reindexed: true };
  },
});

const mcp = quipuVerb({
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
});

/** The verbs with which a store begins. */
export const firstVerbs: readonly QuipuVerb[] = [init, serve, mcp, ui];

/** As the verbs of a thing are called elsewhere. */
export const guessedVerbs: readonly QuipuVerb[] = [
  { ...init, name: 'create' },
  { ...stats, name: 'show' },
];

export const upkeepVerbs: readonly QuipuVerb[] = [
  stats,
  gc,
  verify,
  backup,
  restore,
  copy,
  retain,
  checkpoint,
  reindex,
  doctor,
];
