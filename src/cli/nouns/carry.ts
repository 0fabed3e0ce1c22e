import { given } from '../../base/given.ts';
import { isQuipuError } from '../../base/errors.ts';
import { walkFolder } from '../../import/source/walk-folder.ts';
import type { TidyReport } from '../../session/keep/manage-sessions.ts';
import { quipuVerb, toId, type QuipuVerb } from '../kit/command.ts';
import { parseDuration, parseSize } from '../kit/parse.ts';
import { toSize } from '../kit/text.ts';
import { toSessionArgument } from './session.ts';
import { argument, option } from '../kit/verb.ts';
import { resolve } from 'node:path';

export const carryVerbs: readonly QuipuVerb[] = [
  quipuVerb({
    name: 'fork',
    summary: 'Create a session that continues another one, and print its id.',
    examples: [
      'branch=$(quipu session fork $id)',
      'quipu session fork $id --at $entry --no-artifacts --json',
    ],
    takes: [
      argument('<session>', 'id or path of its file'),
      option('--at <entry>', 'keep only this entry and those that lead to it'),
      option('--no-artifacts', 'leave the artifacts behind'),
      option('--folder <folder>', 'where the new file goes (default: beside the old one)'),
    ],
    async give(io, name, { folder, ...options }) {
      const { shell } = io;
      const { sessions } = await io.openStore();
      const place = folder === undefined ? {} : { folder: resolve(shell.cwd, folder) };
      const report = await sessions.fork(toSessionArgument(shell, name), { ...options, ...place });
      if (report.warning !== undefined) shell.err(`${report.warning}\n`);
      return report;
    },
    show: toId,
  }),
  quipuVerb({
    name: 'move',
    summary: 'Move a session and its artifacts to another folder.',
    examples: [
      'quipu session move $id ../other/sessions --cwd ../other',
      'quipu session move $id --cwd ../other',
    ],
    takes: [
      argument('<session>', 'id or path of its file'),
      argument(
        '[folder]',
        'where to; may be on another device (default: inside the store, for --cwd)',
      ),
      option('--cwd <folder>', 'the folder the session is about from now on'),
    ],
    async give(io, name, folder, options) {
      const { shell } = io;
      const { sessions } = await io.openStore();
      const about = options.cwd === undefined ? {} : { cwd: resolve(shell.cwd, options.cwd) };
      // If neither is given, the call refuses, as for any other caller.
      const to = folder === undefined ? (about as { cwd: string }) : resolve(shell.cwd, folder);
      return sessions.move(toSessionArgument(shell, name), to, about);
    },
    show: ({ to }) => `${to}\n`,
  }),
  quipuVerb({
    name: 'export',
    summary: 'Write a session, its artifacts and its blobs to a folder.',
    examples: ['quipu session export $id ./take-along'],
    takes: [
      argument('<session>', 'id or path of its file'),
      argument('<folder>', 'a new or empty folder'),
    ],
    async give(io, name, folder) {
      const { shell } = io;
      const { sessions } = await io.openStore();
      const to = resolve(shell.cwd, folder);
      const report = await sessions.export(toSessionArgument(shell, name), to);
      for (const sha256 of report.missing) shell.err(`blob:sha256:${sha256} is missing\n`);
      return report;
    },
    show: ({ folder }) => `${folder}\n`,
  }),
  quipuVerb({
    name: 'import',
    summary: 'Import exported sessions, or the home of oh-my-pi, and print their ids.',
    more: [
      'The store gets a copy of each session, with its artifacts and blobs. The original files do not change. From a home,',
      'it takes each session that is not in the store yet. To read sessions as contexts instead, use "quipu import".',
    ].join('\n'),
    examples: ['quipu session import ./take-along', 'quipu session import ./omp-home'],
    takes: [
      argument('<path>', 'what "quipu session export" wrote, a session file, or a home with many'),
      option('--folder <folder>', 'where the files go (default: inside the store)'),
    ],
    async run(io, from, { folder }) {
      const { shell } = io;
      const path = resolve(shell.cwd, from);
      const { sessions } = await io.createStore();
      const place = folder === undefined ? {} : { folder: resolve(shell.cwd, folder) };
      const take = async (file: string): Promise<void> => {
        await using session = await sessions.import(file, place);
        const { id, file: at } = session;
        await io.print({ id, file: at }, toId);
      };
      try {
        await take(path);
        return;
      } catch (error) {
        const files = await sessionsBelow(path);
        if (files.length === 0 || !isQuipuError(error)) throw error;
        for (const file of files) {
          // One session of many must not keep the others out.
          await take(file).catch((problem: unknown) => {
            if (!isQuipuError(problem)) throw problem;
            shell.err(`not taken: ${file}: ${problem.message}\n`);
          });
        }
      }
    },
  }),
  quipuVerb({
    name: 'recover',
    summary: 'Give a session file that lost its header a new one.',
    examples: ['quipu session recover ./2026-11-15T10-00-00-000Z_x.jsonl'],
    takes: [argument('<file>', 'called <timestamp>_<id>.jsonl; every byte of it stays')],
    give: async (io, file) =>
      (await io.openStore()).sessions.recoverHeader(resolve(io.shell.cwd, file)),
    show: toId,
  }),
  quipuVerb({
    name: 'gc',
    summary: 'Show how much space sessions take, and remove old ones on request.',
    examples: ['quipu session gc', 'quipu session gc --max-age 90d --max-size 2GB --dry-run'],
    more: 'Without options, it removes nothing. To free the blobs, run "quipu gc".',
    takes: [
      option('--max-age <time>', 'remove sessions whose last entry is older', parseDuration),
      option('--max-size <size>', 'remove the oldest until the rest fits', parseSize),
      option(
        '--forget-missing',
        'forget sessions whose file is gone, so that "quipu gc" frees their blobs',
      ),
      option('--drafts', 'remove unfinished files; only while no agent is at work'),
      option('--dry-run', 'only show what would be removed'),
    ],
    async give(io, { maxAge: maxAgeMs, maxSize: maxBytes, dryRun = false, ...options }) {
      const { sessions } = await io.openStore();
      const report = await sessions.tidy({ ...options, dryRun, ...given({ maxAgeMs, maxBytes }) });
      return { ...report, dryRun };
    },
    show: toText,
  }),
];

/** The sessions of a home: `sessions/<folder>/<timestamp>_<id>.jsonl`. Files of subagents come along as artifacts. */
async function sessionsBelow(path: string): Promise<string[]> {
  const files: string[] = [];
  const wants = (name: string): boolean => /^(?:sessions\/)?[^/]+\/[^/]+_[^/]+\.jsonl$/.test(name);
  for await (const { path: file } of walkFolder(path, wants)) {
    const isArtifact = files.some((other) =>
      file.startsWith(`${other.slice(0, -'.jsonl'.length)}/`),
    );
    if (!isArtifact) files.push(file);
  }
  return files;
}

function toText(report: TidyReport & { readonly dryRun: boolean }): string {
  const { sessions, bytes, removed, missing, forgotten, drafts, dryRun } = report;
  const verb = dryRun ? 'would go' : 'removed';
  const lines = removed.map(({ id, bytes: size }) => `${id}  ${toSize(size)}`);
  const gone = missing.map(({ id, file }) => `${id}  missing: ${file}`);
  const sum = `${sessions} sessions, ${toSize(bytes)}; ${removed.length} ${verb}`;
  const others = `${missing.length} missing, ${forgotten} forgotten, ${drafts} drafts`;
  return `${[...lines, ...gone, `${sum}, ${others}`].join('\n')}\n`;
}
