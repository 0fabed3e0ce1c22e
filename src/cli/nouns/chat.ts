import { given } from '../../base/given.ts';
import { decodeUtf8 } from '../../base/text.ts';
import type { Chat, ChatInfo, ClarificationBatch } from '../../chat/handle/chats.ts';
import { openChat, showMessage } from './message.ts';
import { quipuVerb, toId, upTo, type QuipuVerb } from '../kit/command.ts';
import { readInput, readWhole, OUT_OPTIONS, openOutput } from '../kit/files.ts';
import { parseCount, parseDuration, parseSize } from '../kit/parse.ts';
import { tableOf, escapeControls, toPlainLine, toSize, type Column } from '../kit/text.ts';
import { argument, oneOf, option, preset } from '../kit/verb.ts';

const TITLE_CHARS = 48;

const CHAT_COLUMNS: readonly Column<ChatInfo>[] = [
  ['CHAT', ({ id }) => id],
  ['EVENTS', ({ events }) => events, 'right'],
  ['SIZE', ({ bytes }) => toSize(bytes), 'right'],
  ['UPDATED', ({ updatedAt }, screen) => screen.time(updatedAt)],
  ['STATE', toState],
  ['TITLE', ({ title }) => toPlainLine(title, TITLE_CHARS)],
];

const IMPORT_BYTES_MAX = 512 * 1024 * 1024;

const PAYLOAD_CHARS = 200;

export const chatVerbs: readonly QuipuVerb[] = [
  quipuVerb({
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
    give: async (io, options) => (await io.createStore()).chats.create(options),
    show: toId,
  }),
  quipuVerb({
    name: 'list',
    summary: 'List chats.',
    examples: ['quipu chat list', 'quipu chat list -n 5 --json'],
    takes: [
      preset('-n, --limit <n>', 'how many at most', parseCount, 50),
      option('--cursor <text>', 'continue where the previous page ended'),
    ],
    list: async (io, options) => (await io.openStore()).chats.list(options),
    columns: CHAT_COLUMNS,
  }),
  quipuVerb({
    name: 'show',
    summary: 'Show the last messages of a chat, with questions and answers.',
    examples: [
      'quipu chat show $chat',
      'quipu chat show $chat -n 5 --branch $branch',
      'quipu chat show $chat --json | jq .messages',
    ],
    takes: [
      argument('<chat>', 'id of the chat'),
      preset('-n, --limit <n>', 'how many messages at most', parseCount, 20),
      option('--before <seq>', 'messages before this one', parseCount),
      option('--branch <id>', 'a branch, or "*" for all (default: main)'),
    ],
    async run(io, id, { limit, before, branch }) {
      const { shell } = io;
      const chat = await openChat(io, id);
      const page = await chat.messages({ limit, ...given({ before, branch }) });
      const status = await chat.status();
      const clarifications = await batchesOf(chat, page.before ?? 0, before ?? Infinity);
      if (io.json) {
        await io.printJson({ ...status, ...page, clarifications });
        return;
      }
      const shown = [
        ...page.messages.map(({ seq, ...message }) => ({
          seq,
          text: showMessage({ seq, ...message }),
        })),
        ...clarifications.map((batch) => ({ seq: batch.seq, text: showBatch(batch) })),
      ];
      for (const { text } of shown.toSorted((a, b) => a.seq - b.seq)) await shell.out(text);
      if (page.before !== undefined) shell.err(`more: --before ${page.before}\n`);
      if (status.problems > 0) {
        shell.err(`${status.problems} problems: quipu chat problems ${id}\n`);
      }
    },
  }),
  quipuVerb({
    name: 'search',
    summary: 'Find messages by their text, newest first.',
    examples: ['quipu chat search $chat "parser"'],
    takes: [
      argument('<chat>', 'id of the chat'),
      argument('<text>', 'what to look for, in any case'),
      preset('-n, --limit <n>', 'how many at most', parseCount, 20),
      option('--before <seq>', 'messages before this one', parseCount),
      option('--branch <id>', 'only in this branch (default: all)'),
    ],
    async run(io, id, text, options) {
      const { messages, before } = await (await openChat(io, id)).search(text, options);
      for (const message of messages) await io.print(message, showMessage);
      if (before !== undefined) io.noteMore({ before });
    },
  }),
  quipuVerb({
    name: 'problems',
    summary: 'List what is wrong in a chat, and where.',
    examples: ['quipu chat problems $chat'],
    takes: [argument('<chat>', 'id of the chat')],
    list: async (io, id) => (await openChat(io, id)).problems(),
    columns: [
      ['EVENT', ({ seq }) => seq, 'right'],
      ['KIND', ({ kind }) => kind],
      ['WHAT', ({ message }) => message],
    ],
  }),
  quipuVerb({
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
    async run(io, id, { format, out, force, ...branch }) {
      const chat = await openChat(io, id);
      await using output = await openOutput(io.shell, given({ out, force }));
      for await (const piece of chat.export({ format: io.json ? 'json' : format, ...branch })) {
        await output.write(piece);
      }
      await output.complete();
    },
  }),
  quipuVerb({
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
    async give(io, file, options) {
      const bytes = await readWhole(readInput(io.shell, file), IMPORT_BYTES_MAX);
      return (await io.createStore()).chats.import(decodeUtf8(bytes), options);
    },
    show: toId,
  }),
  quipuVerb({
    name: 'follow',
    summary: 'Print the events of a chat, then every new one until Ctrl-C.',
    examples: ['quipu chat follow $chat', 'quipu chat follow $chat --after 120 --json'],
    takes: [
      argument('<chat>', 'id of the chat'),
      option('--after <seq>', 'begin after this event', parseCount),
      option('-n, --count <n>', 'stop after this many events', parseCount),
    ],
    async *each(io, id, { after = 0, count }) {
      const chat = await openChat(io, id);
      yield* upTo(count, chat.follow({ after, signal: io.shell.catchInterrupt() }));
    },
    line: ({ seq, at, type, payload }) =>
      `${seq}  ${at}  ${type}  ${toPlainLine(JSON.stringify(payload), PAYLOAD_CHARS)}\n`,
  }),
  quipuVerb({
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
    give: async (io, id, options) => (await openChat(io, id)).update(options),
    show: toId,
  }),
  quipuVerb({
    name: 'archive',
    summary: 'Compress a chat; from then on it can only be read.',
    examples: ['quipu chat archive $chat'],
    takes: [argument('<chat>', 'id of the chat')],
    give: async (io, id) => (await openChat(io, id)).archive(),
    show: toId,
  }),
  quipuVerb({
    name: 'unarchive',
    summary: 'Make an archived chat writable again.',
    examples: ['quipu chat unarchive $chat'],
    takes: [argument('<chat>', 'id of the chat')],
    give: async (io, id) => (await openChat(io, id)).unarchive(),
    show: toId,
  }),
  quipuVerb({
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
      const store = await io.openStore();
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
      await io.printRows(chats, tableOf(CHAT_COLUMNS));
      const done = action === 'archive' ? 'archived' : 'removed';
      const verb = dryRun ? `would be ${done}` : done;
      await shell.out(`${chats.length} ${verb}, ${kept} stay, ${pinned} of them pinned\n`);
      for (const id of damaged) shell.err(`damaged, and stays: quipu chat problems ${id}\n`);
    },
  }),
  quipuVerb({
    name: 'types',
    summary: 'List the types of events that programs have registered.',
    examples: ['quipu chat types'],
    list: async (io) => (await io.openStore()).chats.types(),
    columns: [
      ['TYPE', ({ type }) => type],
      ['SINCE', ({ since }, screen) => screen.time(since)],
      ['ABOUT', ({ about }) => toPlainLine(about, TITLE_CHARS)],
    ],
  }),
  quipuVerb({
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
    async run(io, type, { forget, ...about }) {
      const { chats } = await io.createStore();
      if (forget === true) await chats.forgetType(type);
      else await io.print(await chats.registerType(type, about), (added) => `${added.type}\n`);
    },
  }),
  quipuVerb({
    name: 'rm',
    summary: 'Remove a chat; "quipu gc" then frees its blobs.',
    examples: ['quipu chat rm $chat'],
    takes: [argument('<chat>', 'id of the chat')],
    give: async (io, id) => (await io.openStore()).chats.remove(id),
  }),
];

function toState({ pinned, archivedAt }: ChatInfo): string {
  return [...(pinned ? ['pinned'] : []), ...(archivedAt === undefined ? [] : ['archived'])].join();
}

/** The batches of questions between the messages of a page. */
async function batchesOf(chat: Chat, from: number, to: number): Promise<ClarificationBatch[]> {
  const found: ClarificationBatch[] = [];
  let before = to === Infinity ? {} : { before: to };
  for (;;) {
    const page = await chat.clarifications(before);
    found.unshift(...page.batches.filter(({ seq }) => seq >= from));
    if (page.before === undefined || page.before <= from) return found;
    before = { before: page.before };
  }
}

function showBatch(batch: ClarificationBatch): string {
  const { batch_id, at, title, state, reason, redacted, questions } = batch;
  const waits = state === 'open' ? 'waits for answers' : state;
  const notes = [title, waits, reason, ...(redacted === true ? ['redacted'] : [])];
  const said = notes.filter((note) => note !== undefined);
  const head = ['questions', at, batch_id, ...said].map(escapeControls).join('  ');
  const lines = questions.map(({ id, text, options, answer }) => {
    const choice = options === undefined ? '' : ` (${options.join(', ')})`;
    const given = answer === undefined ? '' : ` -> ${[answer].flat().join(', ')}`;
    return `  ${escapeControls(`${id}: ${text}${choice}${given}`)}`;
  });
  return `${[head, ...lines].join('\n')}\n`;
}
