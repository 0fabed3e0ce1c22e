import { basename } from 'node:path';
import { isFields } from '../../base/fields.ts';
import { given } from '../../base/given.ts';
import { invalid } from '../../base/errors.ts';
import type { Answer, Question } from '../../chat/events/payloads.ts';
import type { Chat } from '../../chat/handle/chats.ts';
import { quipuVerb, toHash, toId, toSeq, type CommandIo, type QuipuVerb } from '../kit/command.ts';
import { readInput, readWhole } from '../kit/files.ts';
import { parseCount, parseJson } from '../kit/parse.ts';
import { argument, option, required, type OptionOf } from '../kit/verb.ts';
import { decodeUtf8 } from '../../base/text.ts';
import type { ChatMessage } from '../../chat/projections/message-part.ts';
import { escapeControls } from '../kit/text.ts';

const TEXT_BYTES_MAX = 33_554_432;

export async function openChat(io: CommandIo, id: string): Promise<Chat> {
  return (await io.openStore()).chats.open(id);
}

export interface TextOptions {
  readonly text?: string;
  readonly stdin?: boolean;
  readonly file?: string;
}

const TEXT_OPTIONS: readonly OptionOf<TextOptions>[] = [
  option('--text <text>', 'the text itself'),
  option('--stdin', 'the text is standard input'),
  option('--file <path>', 'the text is this file'),
];

/** Reads the one text that was given. */
export async function readText(io: CommandIo, { text, stdin, file }: TextOptions): Promise<string> {
  const ways = [text, stdin === true ? '-' : undefined, file].filter((way) => way !== undefined);
  if (ways.length !== 1)
    throw invalid('text', 'must be given exactly once, with --text, --stdin or --file');
  if (text !== undefined) return text;
  const source = readInput(io.shell, file ?? '-');
  return decodeUtf8(await readWhole(source, TEXT_BYTES_MAX));
}

/** Shows a message to people: author, time and text. The text cannot take over the terminal. */
export function showMessage(message: ChatMessage): string {
  const { id, role, at, state, interrupted, edits, redacted, attachments, content, damaged } =
    message;
  if (damaged !== undefined)
    return `${escapeControls(`(event ${message.seq} cannot be read: ${damaged})`)}\n`;
  const notes = [
    ...(edits > 0 ? ['edited'] : []),
    ...(state === 'streaming' ? ['not completed'] : []),
    ...(interrupted === true ? ['interrupted'] : []),
    ...(redacted === undefined ? [] : [`redacted: ${redacted.reason}`]),
  ];
  const head = [`${role}  ${at}  ${id}`, ...notes].map((text) => escapeControls(text)).join('  ');
  const files = attachments.map(({ name, size, hash }) => `  + ${name} (${size} bytes) ${hash}`);
  const lines = redacted === undefined ? content.split('\n') : [];
  const body = [...lines.map((line) => `  ${line}`), ...files].map((line) => escapeControls(line));
  return `${[head, ...body].join('\n')}\n`;
}

export const messageVerbs: readonly QuipuVerb[] = [
  quipuVerb({
    name: 'append',
    summary: 'Add a message to a chat and print its id.',
    examples: [
      'quipu chat append $chat --role user --text "hi"',
      'make test 2>&1 | quipu chat append $chat --role tool --stdin',
      'quipu chat append $chat --role user --text "or rather" --branch $branch',
    ],
    takes: [
      argument('<chat>', 'id of the chat'),
      required('--role <name>', 'who says it, such as user or assistant'),
      ...TEXT_OPTIONS,
      option('--branch <id>', 'the branch to say it in (default: main)'),
      option('--id <id>', 'id of the message (default: a new one)'),
      option('--expect-seq <n>', 'only if this is the last event', parseCount),
      option('--expected-seq <n>', 'the old name of --expect-seq', parseCount).hideHelp(),
    ],
    async give(io, chatId, options) {
      const { role, branch, id, expectedSeq: old, expectSeq: expectedSeq = old } = options;
      const content = await readText(io, options);
      const chat = await openChat(io, chatId);
      return chat.add({ role, content, ...given({ branch, id }) }, given({ expectedSeq }));
    },
    show: toId,
  }),
  quipuVerb({
    name: 'resume',
    summary: 'Add standard input to a message that was not completed, and complete it.',
    examples: ['echo "and the rest" | quipu chat resume $chat $streaming'],
    takes: [argument('<chat>', 'id of the chat'), argument('<message>', 'id of the message')],
    async give(io, id, message) {
      const stream = await (await openChat(io, id)).resume(message);
      const decoder = new TextDecoder('utf-8', { fatal: true });
      for await (const piece of io.shell.stdin) {
        await stream.write(decoder.decode(piece, { stream: true }));
      }
      await stream.write(decoder.decode());
      return stream.complete();
    },
    show: toSeq,
  }),
  quipuVerb({
    name: 'complete',
    summary: 'End a message that was begun and not completed.',
    examples: [
      'quipu chat complete $chat $streaming --interrupted',
      'quipu chat complete $chat $streaming --text "the whole text"',
    ],
    takes: [
      argument('<chat>', 'id of the chat'),
      argument('<message>', 'id of the message'),
      ...TEXT_OPTIONS,
      option('--interrupted', 'say that the text may be cut short'),
    ],
    async give(io, id, message, { interrupted, ...options }) {
      const isGiven = Object.values(options).some((way) => way !== undefined && way !== false);
      const content = isGiven ? await readText(io, options) : undefined;
      return (await openChat(io, id)).complete(message, content, given({ interrupted }));
    },
    show: toSeq,
  }),
  quipuVerb({
    name: 'edit',
    summary: 'Change the text of a message; the first text stays in the log.',
    examples: ['quipu chat edit $chat $message --text "hello"'],
    takes: [
      argument('<chat>', 'id of the chat'),
      argument('<message>', 'id of the message'),
      ...TEXT_OPTIONS,
    ],
    async give(io, id, message, options) {
      const content = await readText(io, options);
      return (await openChat(io, id)).edit(message, content);
    },
    show: toSeq,
  }),
  quipuVerb({
    name: 'fork',
    summary: 'Create a branch after a message, and print its id.',
    examples: [
      'branch=$(quipu chat fork $chat $message)',
      'quipu chat fork $chat $message --branch try2',
      'quipu chat fork $chat $message --before-it',
    ],
    takes: [
      argument('<chat>', 'id of the chat'),
      argument('<message>', 'id of the message it goes on from'),
      option('--branch <id>', 'id of the branch (default: a new id)'),
      option('--before-it', 'without the message itself'),
    ],
    async give(io, id, message, { branch, beforeIt: before }) {
      const chat = await openChat(io, id);
      return { branch: await chat.fork(message, given({ branch, before })) };
    },
    show: ({ branch }) => `${branch}\n`,
  }),
  quipuVerb({
    name: 'redact',
    summary: 'Hide a message for good, and with --erase remove its text.',
    examples: [
      'quipu chat redact $chat $message --reason "a password"',
      'quipu chat redact $chat $message --reason "a password" --erase',
      'quipu chat redact $chat $batch --batch --reason "an address"',
    ],
    takes: [
      argument('<chat>', 'id of the chat'),
      argument('<message>', 'id of the message, or with --batch of a batch of questions'),
      required('--reason <text>', 'why; it stays readable'),
      option('--batch', 'hide the questions and answers of a batch'),
      option('--erase', 'remove the text from every file of the store'),
      option('--everywhere', 'with --erase: also erase attachments whose bytes others use'),
    ],
    async run(io, id, what, { batch, ...options }) {
      const { shell } = io;
      const chat = await openChat(io, id);
      const report = await (batch === true
        ? chat.redactBatch(what, options)
        : chat.redact(what, options));
      if (io.json) {
        await io.printJson(report);
        return;
      }
      const { erasedLines, erasedBlobs, unreadableLines, kept } = report;
      await shell.out(
        options.erase === true ? `erased ${erasedLines} lines, ${erasedBlobs} blobs\n` : 'hidden\n',
      );
      if (unreadableLines > 0) shell.err(`${unreadableLines} damaged lines were not looked into\n`);
      for (const hash of kept) shell.err(`kept, because others use it: attachment ${hash}\n`);
    },
  }),
  quipuVerb({
    name: 'attach',
    summary: 'Attach a file to a chat and print the hash of its bytes.',
    examples: [
      'quipu chat attach $chat shot.png --message $message',
      'make 2>&1 | quipu chat attach $chat - --name build.log',
    ],
    takes: [
      argument('<chat>', 'id of the chat'),
      argument('<file>', 'the file, or "-" for standard input'),
      option('--name <text>', 'name to show (default: the name of the file)'),
      option('--media-type <type>', 'what it is (default: by the ending of the name)'),
      option('--artifact', 'the agent made the file'),
      option('--call <id>', 'with --artifact: the tool call that made it'),
      option('--message <id>', 'the message it belongs to'),
    ],
    async give(io, id, file, options) {
      const { name = file === '-' ? 'standard input' : basename(file) } = options;
      return (await openChat(io, id)).attach(readInput(io.shell, file), { ...options, name });
    },
    show: toHash,
  }),
  quipuVerb({
    name: 'ask',
    summary: 'Open a batch of questions in a chat and print its id.',
    examples: ['quipu chat ask $chat --questions \'[{"id":"q1","text":"Sure?","kind":"yes_no"}]\''],
    more: 'Kinds: single and multiple (with options), yes_no, text.',
    takes: [
      argument('<chat>', 'id of the chat'),
      required('--questions <json>', 'a list of {id, text, kind, options}', parseJson),
      option('--title <text>', 'what they are about'),
    ],
    async give(io, id, { questions, ...title }) {
      if (!Array.isArray(questions)) throw invalid('questions', 'must be a JSON list');
      const chat = await openChat(io, id);
      return { batch: await chat.ask(questions as readonly Question[], title) };
    },
    show: ({ batch }) => `${batch}\n`,
  }),
  quipuVerb({
    name: 'answer',
    summary: 'Answer every question of the open batch.',
    examples: ['quipu chat answer $chat $batch --answers \'{"q1":"yes"}\''],
    takes: [
      argument('<chat>', 'id of the chat'),
      argument('<batch>', 'id of the batch'),
      required('--answers <json>', 'an object from question to answer', parseJson),
    ],
    async give(io, id, batch, { answers }) {
      if (!isFields(answers)) {
        throw invalid('answers', 'must be a JSON object from question to answer');
      }
      const all = Object.entries(answers as Record<string, Answer['value']>);
      const list = all.map(([question_id, value]) => ({ question_id, value }));
      return (await openChat(io, id)).answer(batch, list);
    },
    show: toSeq,
  }),
  quipuVerb({
    name: 'dismiss',
    summary: 'Close the open batch of questions without answers.',
    examples: ['quipu chat dismiss $chat $batch --reason "no longer needed"'],
    takes: [
      argument('<chat>', 'id of the chat'),
      argument('<batch>', 'id of the batch'),
      option('--reason <text>', 'why'),
    ],
    give: async (io, id, batch, { reason }) => (await openChat(io, id)).dismiss(batch, reason),
    show: toSeq,
  }),
];
