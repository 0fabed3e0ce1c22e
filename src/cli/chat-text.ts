import type { Option } from 'commander';
import { invalid } from '../base/errors.ts';
import { decodeUtf8 } from '../base/utf8.ts';
import type { ChatMessage } from '../chat/projections/message.ts';
import type { CommandIo } from './command.ts';
import { readInput, readWhole } from './input.ts';
import { escapeControls } from './plain-text.ts';
import { option } from './verb.ts';

const TEXT_BYTES_MAX = 33_554_432;

export interface TextOptions {
  readonly text?: string;
  readonly stdin?: boolean;
  readonly file?: string;
}

export const TEXT_OPTIONS: readonly Option[] = [
  option('--text <text>', 'the text itself'),
  option('--stdin', 'the text is standard input'),
  option('--file <path>', 'the text is this file'),
];

/** Reads the one text that was given. */
export async function readText(io: CommandIo, { text, stdin, file }: TextOptions): Promise<string> {
  const ways = [text, stdin === true ? '-' : undefined, file].filter((way) => way !== undefined);
  if (ways.length !== 1) throw invalid('text', 'is given once, with --text, --stdin or --file');
  if (text !== undefined) return text;
  const source = readInput(io.shell, file ?? '-');
  return decodeUtf8(await readWhole(source, TEXT_BYTES_MAX));
}

/** Shows a message to people: author, time and text. The text cannot take over the terminal. */
export function showMessage(message: ChatMessage): string {
  const { id, role, at, state, edits, redacted, attachments, content, damaged } = message;
  if (damaged !== undefined)
    return `${escapeControls(`(event ${message.seq} cannot be read: ${damaged})`)}\n`;
  const notes = [
    ...(edits > 0 ? ['edited'] : []),
    ...(state === 'streaming' ? ['not completed'] : []),
    ...(redacted === undefined ? [] : [`redacted: ${redacted.reason}`]),
  ];
  const head = [`${role}  ${at}  ${id}`, ...notes].map((text) => escapeControls(text)).join('  ');
  const files = attachments.map(({ name, size, hash }) => `  + ${name} (${size} bytes) ${hash}`);
  const lines = redacted === undefined ? content.split('\n') : [];
  const body = [...lines.map((line) => `  ${line}`), ...files].map((line) => escapeControls(line));
  return `${[head, ...body].join('\n')}\n`;
}
