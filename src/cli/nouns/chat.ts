import { decodeUtf8 } from '../../base/text.ts';
import type { ChatInfo, NewChat } from '../../chat/handle/chats.ts';
import type { ChatEvent } from '../../chat/events/event.ts';
import { showMessage } from './message.ts';
import type { QuipuVerb } from '../kit/command.ts';
import { readInput, readWhole } from '../kit/input.ts';
import { openOutput } from '../kit/output.ts';
import { parseCount, parseDuration, parseSize } from '../kit/parse.ts';
import { escapeControls, toPlainLine, toSize, toTable } from '../kit/text.ts';
import { argument, oneOf, option } from '../kit/verb.ts';

const create: QuipuVerb = {
  name: 'new',
  summary: 'Begin a chat and print its id.',
  examples: [
    'chat=$(quipu chat new --title "fix the parser")',
    'quipu chat new --id support_42 --pinned',
  ],
  takes: [
    option('--id <id>', 'letters, digits and "_" (default: a new one)'),
    option('--title <text>', 'what it is about'),
    option('--pinned', 'no policy takes it away'),
  ],
  async run(io, options: NewChat) {
    await using store = await io.createStore();
    const chat = await store.chats.create(options);
    await io.print(chat, () => `${chat.id}\n`);
  },
};

const TITLE_CHARS = 48;

interface ListGiven {
  readonly limit: number;
  readonly cursor?: string;
}

const list: QuipuVerb = {
  name: 'list',
  summary: 'List chats.',
  examples: ['quipu chat list', 'quipu chat list -n 5 --json'],
  takes: [
    option('-n, --limit <n>', 'how many at most', parseCount, 50),
    option('--cursor <text>', 'go on where the page before ended'),
  ],
  async run(io, { limit, cursor: from }: ListGiven) {
    await using store = await io.openStore();
    const page = await store.chats.list({ limit, ...(from !== undefined && { cursor: from }) });
    await io.printRows(page.items, toChatTable);
    const { cursor } = page;
    if (cursor === undefined) return;
    io.noteMore({ cursor });
  },
};

function toChatTable(chats: readonly ChatInfo[]): string {
  const rows = chats.map(({ id, events, bytes, updatedAt, pinned, archivedAt, title }) => [
    id,
    String(events),
    toSize(bytes),
    updatedAt,
    [...(pinned ? ['pinned'] : []), ...(archivedAt === undefined ? [] : ['archived'])].join(','),
    toPlainLine(title, TITLE_CHARS),
  ]);
  return toTable(['CHAT', 'EVENTS', 'SIZE', 'UPDATED', 'STATE', 'TITLE'], rows, ['EVENTS', 'SIZE']);
}

interface ShowGiven {
  readonly limit: number;
  readonly before?: number;
  readonly branch?: string;
}

const show: QuipuVerb = {
  name: 'show',
  summary: 'Show the last messages of a chat, and what it waits for.',
  examples: [
    'quipu chat show $chat',
    'quipu chat show $chat -n 5 --branch $branch',
    'quipu chat show $chat --json | jq .messages',
  ],
  takes: [
    argument('<chat>', 'id of the chat'),
    option('-n, --limit <n>', 'how many messages at most', parseCount, 20),
    option('--before <seq>', 'messages before this one', parseCount),
    option('--branch <id>', 'a branch, or "*" for all (default: main)'),
  ],
  async run(io, id: string, { limit, before, branch }: ShowGiven) {
    const { shell } = io;
    await using store = await io.openStore();
    const chat = await store.chats.open(id);
    const page = await chat.messages({
      limit,
      ...(before !== undefined && { before }),
      ...(branch !== undefined && { branch }),
    });
    const status = await chat.status();
    if (io.json) {
      await io.printJson({ ...status, ...page });
      return;
    }
    for (const message of page.messages) await shell.out(showMessage(message));
    const { open } = status.clarification;
    if (open !== undefined) {
      const texts = open.questions.map((one) => `  ${one.id}: ${escapeControls(one.text)}\n`);
      await shell.out(`waits for answers to ${open.batch_id}\n${texts.join('')}`);
    }
    if (page.before !== undefined) shell.err(`more: --before ${page.before}\n`);
    if (status.problems > 0) {
      shell.err(`${status.problems} problems: quipu chat problems ${id}\n`);
    }
  },
};

interface SearchGiven {
  readonly limit: number;
  readonly branch?: string;
  readonly before?: number;
}

const search: QuipuVerb = {
  name: 'search',
  summary: 'Find messages by their text, newest first.',
  examples: ['quipu chat search $chat "parser"'],
  takes: [
    argument('<chat>', 'id of the chat'),
    argument('<text>', 'what to look for, in any case'),
    option('-n, --limit <n>', 'how many at most', parseCount, 20),
    option('--before <seq>', 'messages before this one', parseCount),
    option('--branch <id>', 'only in this branch (default: all)'),
  ],
  async run(io, id: string, text: string, options: SearchGiven) {
    await using store = await io.openStore();
    const page = await (await store.chats.open(id)).search(text, options);
    for (const message of page.messages) {
      await io.print(message, showMessage);
    }
    const { before } = page;
    if (before === undefined) return;
    io.noteMore({ before });
  },
};

const problems: QuipuVerb = {
  name: 'problems',
  summary: 'List what is wrong in a chat, and where.',
  examples: ['quipu chat problems $chat'],
  takes: [argument('<chat>', 'id of the chat')],
  async run(io, id: string) {
    const { shell } = io;
    await using store = await io.openStore();
    const problems = await (await store.chats.open(id)).problems();
    if (io.json) for (const problem of problems) await io.printJson(problem);
    else if (problems.length > 0) {
      const rows = problems.map(({ seq, kind, message }) => [String(seq), kind, message]);
      await shell.out(toTable(['EVENT', 'KIND', 'WHAT'], rows, ['EVENT']));
    }
  },
};

type Format = 'markdown' | 'json';

interface ExportGiven {
  readonly format: Format;
  readonly branch?: string;
  readonly out?: string;
}

const exportVerb: QuipuVerb = {
  name: 'export',
  summary: 'Print a chat as readable Markdown, or all of it as JSON.',
  examples: [
    'quipu chat export $chat > chat.md',
    'quipu chat export $chat --format json --out chat.json',
  ],
  takes: [
    argument('<chat>', 'id of the chat'),
    oneOf('--format <name>', 'what to print', ['markdown', 'json']).default('markdown'),
    option('--branch <id>', 'of Markdown: a branch, or "*" for all (default: main)'),
    option('--out <file>', 'write to this file; it appears when it is complete'),
  ],
  async run(io, id: string, { format, branch, out }: ExportGiven) {
    const { shell } = io;
    await using store = await io.openStore();
    const chat = await store.chats.open(id);
    await using output = await openOutput(shell, out);
    const named = branch === undefined ? {} : { branch };
    const wanted = io.json ? 'json' : format;
    for await (const piece of chat.export({ format: wanted, ...named })) {
      await output.write(piece);
    }
    await output.complete();
  },
};

const IMPORT_BYTES_MAX = 512 * 1024 * 1024;

const importVerb: QuipuVerb = {
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
  async run(io, file: string, options: { id?: string }) {
    const { shell } = io;
    const bytes = await readWhole(readInput(shell, file), IMPORT_BYTES_MAX);
    await using store = await io.createStore();
    const chat = await store.chats.import(decodeUtf8(bytes), options);
    await io.print(chat, () => `${chat.id}\n`);
  },
};

const PAYLOAD_CHARS = 200;

interface FollowGiven {
  readonly after?: number;
  readonly count?: number;
}

const follow: QuipuVerb = {
  name: 'follow',
  summary: 'Print the events of a chat, then every new one until Ctrl-C.',
  examples: ['quipu chat follow $chat', 'quipu chat follow $chat --after 120 --json'],
  takes: [
    argument('<chat>', 'id of the chat'),
    option('--after <seq>', 'begin after this event', parseCount),
    option('-n, --count <n>', 'end after so many events', parseCount),
  ],
  async run(io, id: string, { after = 0, count = Infinity }: FollowGiven) {
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
};

function toLine({ seq, at, type, payload }: ChatEvent): string {
  return `${seq}  ${at}  ${type}  ${toPlainLine(JSON.stringify(payload), PAYLOAD_CHARS)}\n`;
}

interface UpdateGiven {
  readonly title?: string;
  readonly pinned?: boolean;
}

const update: QuipuVerb = {
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
    option('--pinned', 'no policy takes it away'),
    option('--no-pinned', 'policies count again'),
  ],
  async run(io, id: string, options: UpdateGiven) {
    await using store = await io.openStore();
    const chat = await (await store.chats.open(id)).update(options);
    await io.print(chat, () => `${chat.id}\n`);
  },
};

const archive: QuipuVerb = {
  name: 'archive',
  summary: 'Compress a chat; from then on it can only be read.',
  examples: ['quipu chat archive $chat'],
  takes: [argument('<chat>', 'id of the chat')],
  async run(io, id: string) {
    await using store = await io.openStore();
    const chat = await (await store.chats.open(id)).archive();
    await io.print(chat, () => `${chat.id}\n`);
  },
};

const unarchive: QuipuVerb = {
  name: 'unarchive',
  summary: 'Make an archived chat writable again.',
  examples: ['quipu chat unarchive $chat'],
  takes: [argument('<chat>', 'id of the chat')],
  async run(io, id: string) {
    await using store = await io.openStore();
    const chat = await (await store.chats.open(id)).unarchive();
    await io.print(chat, () => `${chat.id}\n`);
  },
};

interface RetainGiven {
  readonly maxAge?: number;
  readonly maxSize?: number;
  readonly remove?: boolean;
  readonly dryRun?: boolean;
}

const retain: QuipuVerb = {
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
  async run(io, { maxAge, maxSize, remove, dryRun = false }: RetainGiven) {
    const { shell } = io;
    await using store = await io.openStore();
    const report = await store.chats.retain(
      {
        ...(maxAge !== undefined && { maxAgeMs: maxAge }),
        ...(maxSize !== undefined && { maxBytes: maxSize }),
        action: remove === true ? 'remove' : 'archive',
      },
      { dryRun },
    );
    if (io.json) {
      await io.printJson(report);
      return;
    }
    const { chats, kept, pinned, damaged, action } = report;
    if (chats.length > 0) await shell.out(toChatTable(chats));
    const done = action === 'archive' ? 'archived' : 'removed';
    const verb = dryRun ? `would be ${done}` : done;
    await shell.out(`${chats.length} ${verb}, ${kept} stay, ${pinned} of them pinned\n`);
    for (const id of damaged) shell.err(`damaged, and stays: quipu chat problems ${id}\n`);
  },
};

const rm: QuipuVerb = {
  name: 'rm',
  summary: 'Remove a chat; "quipu gc" then frees its blobs.',
  examples: ['quipu chat rm $chat'],
  takes: [argument('<chat>', 'id of the chat')],
  async run(io, id: string) {
    await using store = await io.openStore();
    await store.chats.remove(id);
  },
};

export const chatVerbs: readonly QuipuVerb[] = [
  create,
  list,
  show,
  search,
  problems,
  exportVerb,
  importVerb,
  follow,
  update,
  archive,
  unarchive,
  retain,
  rm,
];
