import { given } from '../../base/given.ts';
import type { Chat, ClarificationBatch } from '../../chat/handle/chats.ts';
import { quipuVerb, type QuipuVerb } from '../kit/command.ts';
import { parseCount } from '../kit/parse.ts';
import { escapeControls } from '../kit/text.ts';
import { argument, option, preset } from '../kit/verb.ts';
import { openChat, showMessage } from './message.ts';

export const showVerb: QuipuVerb = quipuVerb({
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
});

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

export const searchVerb: QuipuVerb = quipuVerb({
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
});
