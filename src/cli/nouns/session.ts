import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { invalid } from '../../base/errors.ts';
import type { NewEntry, SessionEntry } from '../../session/entries/session-entry.ts';
import type { Session } from '../../session/sessions.ts';
import { quipuVerb, toId, upTo } from '../kit/command.ts';
import type { CommandIo, QuipuShell, QuipuVerb } from '../kit/command.ts';
import { parseCount, parseJson } from '../kit/parse.ts';
import { toFacts, toSize } from '../kit/text.ts';
import { readLines } from '../kit/files.ts';
import { argument, option, preset } from '../kit/verb.ts';

export const sessionVerbs: readonly QuipuVerb[] = [
  quipuVerb({
    name: 'create',
    summary: 'Begin a session, and print its id.',
    examples: [
      'id=$(quipu session create --title "fix the parser")',
      'quipu session create --folder ./sessions --json',
    ],
    takes: [
      option('--cwd <folder>', 'the folder the session is about (default: this one)'),
      option('--folder <folder>', 'folder for its file (default: inside the store)'),
      option('--title <text>', 'title of the session'),
    ],
    async give(io, { cwd = '.', folder, title }) {
      const at = io.shell.cwd;
      await using session = await (
        await io.createStore()
      ).sessions.create({
        cwd: resolve(at, cwd),
        ...(folder !== undefined && { folder: resolve(at, folder) }),
        ...(title !== undefined && { header: { title } }),
      });
      const { id, file, header } = session;
      return { id, file, header };
    },
    show: toId,
  }),
  quipuVerb({
    name: 'append',
    summary: 'Append entries, and print their ids.',
    examples: [
      `quipu session append $id --entry '{"type":"message","message":{"role":"user"}}'`,
      'quipu session append $id < entries.jsonl',
    ],
    takes: [
      argument('<session>', 'id or path of its file'),
      option('--entry <json>', 'the entry (default: one a line on standard input)', parseJson),
    ],
    async *each(io, name, { entry }) {
      await using session = await openSession(io, name);
      for await (const given of entry === undefined ? entriesOf(io.shell) : [entry]) {
        const { id, parentId } = await session.append(given as NewEntry);
        yield { id, parentId };
      }
    },
    line: toId,
  }),
  quipuVerb({
    name: 'list',
    summary: 'List the sessions that the store knows, the oldest first.',
    examples: ['quipu session list', 'quipu session list -n 5 --json'],
    takes: [
      preset('-n, --limit <n>', 'how many at most', parseCount, 50),
      option('--cursor <text>', 'continue where the previous page ended'),
    ],
    list: async (io, options) => (await io.openStore()).sessions.list(options),
    columns: [
      ['SESSION', ({ id }) => id],
      ['UPDATED', ({ updatedAt }, screen) => (updatedAt ? screen.time(updatedAt) : 'not here')],
      ['SIZE', ({ sizeBytes }) => (sizeBytes === undefined ? '' : toSize(sizeBytes)), 'right'],
      ['CWD', ({ header, file }) => header?.cwd ?? file],
    ],
  }),
  quipuVerb({
    name: 'show',
    summary: 'Show where a session is and what it contains.',
    examples: ['quipu session show $id'],
    takes: [argument('<session>', 'id or path of its file')],
    give: async (io, name) =>
      (await io.openStore()).sessions.details(toSessionArgument(io.shell, name)),
    show: ({ id, file, available, header, sizeBytes = 0, ...details }) =>
      toFacts([
        ['session', id],
        ['file', available ? file : `${file} (not here)`],
        ['size', toSize(sizeBytes)],
        ['cwd', header?.cwd ?? ''],
        ['began', header?.timestamp ?? ''],
        ['updated', details.updatedAt ?? ''],
        ['forked from', header?.parentSession ?? ''],
        ['artifacts', `${details.artifacts.join(' ')} (${toSize(details.artifactBytes)})`],
        ['agent outputs', details.agentOutputs.join(' ')],
        ['blobs', details.blobs],
      ]),
  }),
  quipuVerb({
    name: 'cat',
    summary: 'Print the entries of a session, one JSON object a line.',
    examples: [
      'quipu session cat $id -n 50 --raw',
      'quipu session cat ./2026-11-15T10-00-00-000Z_x.jsonl --branch',
    ],
    takes: [
      argument('<session>', 'id or path of its file'),
      option('-n, --last <n>', 'only the last n; the rest of the file is not read', parseCount),
      option('--branch [entry]', 'only what leads to the leaf, or to this entry'),
      option('--raw', 'leave references to blobs as they are'),
    ],
    async run(io, name, options) {
      await using session = await openSession(io, name);
      for await (const entry of chosen(session, options, io.shell)) await io.printJson(entry);
    },
  }),
  quipuVerb({
    name: 'follow',
    summary: 'Print the entries of a session, then every new one until Ctrl-C.',
    more: 'A file that was written anew since is printed from its beginning.',
    examples: ['quipu session follow $id', 'quipu session follow $id -n 3 --raw'],
    takes: [
      argument('<session>', 'id or path of its file'),
      option('-n, --count <n>', 'end after so many entries', parseCount),
      option('--raw', 'leave references to blobs as they are'),
    ],
    async run(io, name, { count, raw = false }) {
      await using session = await openSession(io, name);
      const entries = oldAndNew(session, raw, io.shell);
      for await (const entry of upTo(count, entries)) await io.printJson(entry);
    },
  }),
  quipuVerb({
    name: 'artifact',
    summary: 'List the artifacts of a session, or print one.',
    examples: [
      'quipu session artifact $id',
      'quipu session artifact $id 0 --offset 1 --limit 100',
      'quipu session artifact $id "agent://0-Plan?q=.steps[0]"',
    ],
    takes: [
      argument('<session>', 'id or path of its file'),
      argument('[address]', 'a number, artifact://<id> or agent://<id>'),
      option('--offset <line>', 'the first line, counted from 1', parseCount),
      option('--limit <lines>', 'how many lines', parseCount),
    ],
    async run(io, name, address, options) {
      const { shell } = io;
      const { sessions } = await io.openStore();
      const session = toSessionArgument(shell, name);
      if (address === undefined) {
        const { artifacts, agentOutputs } = await sessions.details(session);
        const ids = [
          ...artifacts.map((id) => `artifact://${id}`),
          ...agentOutputs.map((id) => `agent://${id}`),
        ];
        if (io.json) await io.printJson({ artifacts, agentOutputs });
        else if (ids.length > 0) await shell.out(`${ids.join('\n')}\n`);
        return;
      }
      const url = /^\d+$/.test(address) ? `artifact://${address}` : address;
      const resource = await sessions.resolve(url, { session, ...options });
      for (const note of resource.notes) shell.err(`${note}\n`);
      await io.print(resource, () => resource.content);
    },
  }),
  quipuVerb({
    name: 'rm',
    summary: 'Remove a session and its artifacts; "quipu gc" then frees its blobs.',
    examples: ['quipu session rm $id'],
    takes: [argument('<session>', 'id or path of its file')],
    async give(io, session) {
      await (await io.openStore()).sessions.remove(toSessionArgument(io.shell, session));
      return { session, removed: true };
    },
  }),
];

const LINE_BYTES_MAX = 256 * 1024 * 1024;

async function* entriesOf(shell: QuipuShell): AsyncGenerator<unknown> {
  let number = 0;
  for await (const bytes of readLines(shell.stdin, LINE_BYTES_MAX)) {
    number++;
    const line = Buffer.from(bytes).toString('utf8');
    if (line.trim() === '') continue;
    try {
      yield JSON.parse(line) as unknown;
    } catch (error) {
      throw invalid(`line ${number}`, `is not JSON: ${(error as SyntaxError).message}`);
    }
  }
}

async function* chosen(
  session: Session,
  { last, branch, raw = false }: { last?: number; branch?: string | true; raw?: boolean },
  shell: QuipuShell,
): AsyncGenerator<SessionEntry> {
  const hydrate = !raw;
  if (last === undefined && branch === undefined) {
    for await (const { entry, warnings } of session.entries({ hydrate })) {
      yield entry;
      for (const { message, about } of warnings) shell.err(`${message}: ${about}\n`);
    }
    return;
  }
  const view =
    branch === undefined
      ? await session.last(last ?? 0, { hydrate })
      : await session.branch(branch === true ? undefined : branch, { hydrate });
  const { warnings, malformedLines } = view;
  yield* last === undefined
    ? view.entries
    : view.entries.slice(Math.max(0, view.entries.length - last));
  for (const { message, about } of warnings) shell.err(`${message}: ${about}\n`);
  if (malformedLines > 0) shell.err(`${malformedLines} lines could not be read\n`);
}

/** Other programs write the file of a session, too, and tell nobody, so it is looked at in such intervals. */
const LOOK_MS = 250;
const LOOK_ENTRIES = 64;

async function* oldAndNew(
  session: Session,
  raw: boolean,
  shell: QuipuShell,
): AsyncGenerator<SessionEntry> {
  const signal = shell.catchInterrupt();
  let last: string | undefined;
  for await (const entry of chosen(session, { raw }, shell)) {
    if (signal.aborted) return;
    yield entry;
    last = entry.id;
  }
  for (let seen: number | undefined; await isNextLook(signal);) {
    // The size is asked for first: what is written afterwards changes it again.
    const size = await sizeOf(session);
    if (size !== undefined && size === seen) continue;
    seen = size;
    for (const entry of await entriesAfter(session, last, !raw)) {
      yield entry;
      last = entry.id;
    }
  }
}

/** Undefined when the file is gone: then the session may have moved, and reading finds it. */
async function sizeOf({ file = '' }: Session): Promise<number | undefined> {
  const found = await stat(file).catch(() => undefined);
  return found?.size;
}

/** Resolves with false when the caller was told to stop. */
async function isNextLook(signal: AbortSignal): Promise<boolean> {
  try {
    await setTimeout(LOOK_MS, undefined, { signal });
    return true;
  } catch {
    return false;
  }
}

/** Reads the lines behind an entry in the file. The end of the file is read, and as much before it as is needed. */
async function entriesAfter(
  session: Session,
  last: string | undefined,
  hydrate: boolean,
): Promise<readonly SessionEntry[]> {
  for (let count = LOOK_ENTRIES; ; count *= 2) {
    const { entries, cursor } = await session.last(count, { hydrate });
    const at = entries.findLastIndex(({ id }) => id === last);
    if (at >= 0 || cursor === undefined) return entries.slice(at + 1);
  }
}

async function openSession(io: CommandIo, name: string): Promise<Session> {
  return (await io.openStore()).sessions.open(toSessionArgument(io.shell, name));
}

/** Keeps an id as it is. Resolves a path from the user's working directory. */
export function toSessionArgument(shell: QuipuShell, text: string): string {
  return /[/\\]/.test(text) || text.endsWith('.jsonl') ? resolve(shell.cwd, text) : text;
}
