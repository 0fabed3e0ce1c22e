import { given } from '../../base/given.ts';
import { decodeUtf8 } from '../../base/text.ts';
import type { ChatInfo } from '../../chat/handle/chats.ts';
import type { ChatEvent } from '../../chat/events/event.ts';
import { searchVerb, showVerb } from './chat-show.ts';
import { quipuVerb } from '../kit/command.ts';
import type { QuipuVerb } from '../kit/command.ts';
import { readInput, readWhole } from '../kit/input.ts';
import { OUT_OPTIONS, openOutput } from '../kit/output.ts';
import { parseCount, parseDuration, parseSize } from '../kit/parse.ts';
import type { Screen } from '../kit/screen.ts';
import { toPlainLine, toSize } from '../kit/text.ts';
import { argument, oneOf, option, preset } from '../kit/verb.ts';

const create = quipuVerb({
  name: 'create',
  aliases: ['new'],
  summary: 'Begin a chat and print its id.',
  examples: [
    'chat=$(quipu chat create --title "fix the parser")',
    'quipu chat create --id support_42 --pinned',
  ],
  takes: [
    option('--id <id>', 'letters, digits and "_" (default: a new one)'),
    option('--title <text>', 'what it is about'),
    option('--pinned', 'retention does not touch it'),
  ],
  async run(io, options) {
    await using store = await io.createStore();
    const chat = await store.chats.create(options);
    await io.print(chat, () => `${chat.id}\n`);
  },
});

const TITLE_CHARS = 48;

const list = quipuVerb({
  name: 'list',
  summary: 'List chats.',
  examples: ['quipu chat list', 'quipu chat list -n 5 --json'],
  takes: [
    preset('-n, --limit <n>', 'how many at most', parseCount, 50),
    option('--cursor <text>', 'continue where the previous page ended'),
  ],
  async run(io, { limit, cursor: from }) {
    await using store = await io.openStore();
    const page = await store.chats.list({ limit, ...(from !== undefined && { cursor: from }) });
    await io.printRows(page.items, toChatTable);
    const { cursor } = page;
    if (cursor === undefined) return;
    io.noteMore({ cursor });
  },
});

function toChatTable(chats: readonly ChatInfo[], screen: Screen): string {
  const rows = chats.map(({ id, events, bytes, updatedAt, pinned, archivedAt, title }) => [
    id,
    String(events),
    toSize(bytes),
    screen.time(updatedAt),
    [...(pinned ? ['pinned'] : []), ...(archivedAt === undefined ? [] : ['archived'])].join(','),
    toPlainLine(title, TITLE_CHARS),
  ]);
  const headings = ['CHAT', 'EVENTS', 'SIZE', 'UPDATED', 'STATE', 'TITLE'];
  return screen.table(headings, rows, ['EVENTS', 'SIZE']);
}

const problems = quipuVerb({
  name: 'problems',
  summary: 'List what is wrong in a chat, and where.',
  examples: ['quipu chat problems $chat'],
  takes: [argument('<chat>', 'id of the chat')],
  async run(io, id) {
    await using store = await io.openStore();
    const problems = await (await store.chats.open(id)).problems();
    await io.printRows(problems, (_, screen) => {
      const rows = problems.map(({ seq, kind, message }) => [String(seq), kind, message]);
      return screen.table(['EVENT', 'KIND', 'WHAT'], rows, ['EVENT']);
    });
  },
});

const exportVerb = quipuVerb({
  name: 'export',
  summary: 'Print a chat as readable Markdown, or all of it as JSON.',
  examples: [
    'quipu chat export $chat > chat.md',
    'quipu chat export $chat --format json --out talk.json',
  ],
  takes: [
    argument('<chat>', 'id of the chat'),
    oneOf('--format <name>', 'what to print', ['markdown', 'json'], 'markdown'),
    option('--branch <id>', 'of Markdown: a branch, or "*" for all (default: main)'),
    ...OUT_OPTIONS,
  ],
  async run(io, id, { format, branch, ...file }) {
    const { shell } = io;
    await using store = await io.openStore();
    const chat = await store.chats.open(id);
    await using output = await openOutput(shell, file);
    const named = branch === undefined ? {} : { branch };
    const wanted = io.json ? 'json' : format;
    for await (const piece of chat.export({ format: wanted, ...named })) {
      await output.write(piece);
    }
    await output.complete();
  },
});

const IMPORT_BYTES_MAX = 512 * 1024 * 1024;

const importVerb = quipuVerb({
  name: 'import',
  summary: 'Make a chat from one that was exported as JSON; print its id.',
  examples: [
    'quipu chat import chat.json',
    'quipu chat export $chat --format json | quipu chat import - --id copy',
  ],
  takes: [
    argument('<file>', 'the file, or "-" for standard input'),
    option('--id <id>', 'another id than the one it had'),
  ],
  async run(io, file, options) {
    const { shell } = io;
    const bytes = await readWhole(readInput(shell, file), IMPORT_BYTES_MAX);
    await using store = await io.createStore();
    const chat = await store.chats.import(decodeUtf8(bytes), options);
    await io.print(chat, () => `${chat.id}\n`);
  },
});

const PAYLOAD_CHARS = 200;

const follow = quipuVerb({
  name: 'follow',
  summary: 'Print the events of a chat, then every new one until Ctrl-C.',
  examples: ['quipu chat follow $chat', 'quipu chat follow $chat --after 120 --json'],
  takes: [
    argument('<chat>', 'id of the chat'),
    option('--after <seq>', 'begin after this event', parseCount),
    option('-n, --count <n>', 'stop after this many events', parseCount),
  ],
  async run(io, id, { after = 0, count = Infinity }) {
    const { shell } = io;
    if (count === 0) return;
    await using store = await io.openStore();
    const chat = await store.chats.open(id);
    let printed = 0;
    for await (const event of chat.follow({ after, signal: shell.catchInterrupt() })) {
      await io.print(event, toLine);
      printed += 1;
      if (printed >= count) return;
    }
  },
});

function toLine({ seq, at, type, payload }: ChatEvent): string {
  return `${seq}  ${at}  ${type}  ${toPlainLine(JSON.stringify(payload), PAYLOAD_CHARS)}\n`;
}

const update = quipuVerb({
  name: 'update',
  summary: 'Change the title of a chat, or pin it.',
  examples: [
    'quipu chat update $chat --title "fix the lexer"',
    'quipu chat update $chat --pinned',
    'quipu chat update $chat --no-pinned',
  ],
  takes: [
    argument('<chat>', 'id of the chat'),
    option('--title <text>', 'what it is about'),
    option('--pinned', 'retention does not touch it'),
    option('--no-pinned', 'retention may touch it again'),
  ],
  async run(io, id, options) {
    await using store = await io.openStore();
    const chat = await (await store.chats.open(id)).update(options);
    await io.print(chat, () => `${chat.id}\n`);
  },
});

const archive = quipuVerb({
  name: 'archive',
  summary: 'Compress a chat; from then on it can only be read.',
  examples: ['quipu chat archive $chat'],
  takes: [argument('<chat>', 'id of the chat')],
  async run(io, id) {
    await using store = await io.openStore();
    const chat = await (await store.chats.open(id)).archive();
    await io.print(chat, () => `${chat.id}\n`);
  },
});

const unarchive = quipuVerb({
  name: 'unarchive',
  summary: 'Make an archived chat writable again.',
  examples: ['quipu chat unarchive $chat'],
  takes: [argument('<chat>', 'id of the chat')],
  async run(io, id) {
    await using store = await io.openStore();
    const chat = await (await store.chats.open(id)).unarchive();
    await io.print(chat, () => `${chat.id}\n`);
  },
});

const retain = quipuVerb({
  name: 'retain',
  summary: 'Archive chats by age and size, or remove them.',
  examples: [
    'quipu chat retain --max-age 90d --max-size 2GB --dry-run',
    'quipu chat retain --max-age 365d --remove',
  ],
  more: 'Pinned chats stay.',
  takes: [
    option('--max-age <time>', 'chats not written to for this long', parseDuration),
    option('--max-size <size>', 'the oldest, until the logs of the rest fit', parseSize),
    option('--remove', 'remove them instead, archived ones as well'),
    option('--dry-run', 'only say which'),
  ],
  async run(io, { maxAge, maxSize, remove, dryRun = false }) {
    const { shell } = io;
    await using store = await io.openStore();
    const report = await store.chats.retain(
      {
        ...given({ maxAgeMs: maxAge, maxBytes: maxSize }),
        action: remove === true ? 'remove' : 'archive',
      },
      { dryRun },
    );
    if (io.json) {
      await io.printJson(report);
      return;
    }
    const { chats, kept, pinned, damaged, action } = report;
    await io.printRows(chats, toChatTable);
    const done = action === 'archive' ? 'archived' : 'removed';
    const verb = dryRun ? `would be ${done}` : done;
    await shell.out(`${chats.length} ${verb}, ${kept} stay, ${pinned} of them pinned\n`);
    for (const id of damaged) shell.err(`damaged, and stays: quipu chat problems ${id}\n`);
  },
});

const rm = quipuVerb({
  name: 'rm',
  summary: 'Remove a chat; "quipu gc" then frees its blobs.',
  examples: ['quipu chat rm $chat'],
  takes: [argument('<chat>', 'id of the chat')],
  async run(io, id) {
    await using store = await io.openStore();
    await store.chats.remove(id);
  },
});

const types = quipuVerb({
  name: 'types',
  summary: 'List the types of events that programs have registered.',
  examples: ['quipu chat types'],
  takes: [],
  async run(io) {
    await using store = await io.openStore();
    await io.printRows(await store.chats.types(), (types, screen) => {
      const rows = types.map(({ type, since, about }) => [
        type,
        screen.time(since),
        toPlainLine(about, TITLE_CHARS),
      ]);
      return screen.table(['TYPE', 'SINCE', 'ABOUT'], rows);
    });
  },
});

const register = quipuVerb({
  name: 'register',
  summary: 'Register a type of events, so that no chat reports it as a problem.',
  examples: [
    'quipu chat register app.note --about "a note of the app"',
    'quipu chat register app.note && quipu chat register app.note --forget',
  ],
  takes: [
    argument('<type>', 'small letters, digits, "_" and "."'),
    option('--about <text>', 'what such an event means'),
    option('--forget', 'take the type off the list; its events stay'),
  ],
  async run(io, type, { about, forget }) {
    await using store = await io.createStore();
    if (forget === true) {
      await store.chats.forgetType(type);
      return;
    }
    const named = about === undefined ? {} : { about };
    const added = await store.chats.registerType(type, named);
    await io.print(added, () => `${added.type}\n`);
  },
});

export const chatVerbs: readonly QuipuVerb[] = [
  create,
  list,
  showVerb,
  searchVerb,
  problems,
  exportVerb,
  importVerb,
  follow,
  update,
  archive,
  unarchive,
  retain,
  types,
  register,
  rm,
];
