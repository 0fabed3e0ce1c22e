import { importedShape } from './imported.ts';
import { itemShape, markerShape, wrappedShape } from './records.ts';
import { messageShape } from './messages.ts';
import { isFields, toRole, type Block, type Role, type Shape, type Shown } from './shown.ts';

/** In this order. To show payloads of another sort, add a shape here. */
const SHAPES: readonly Shape[] = [
  importedShape,
  markerShape,
  messageShape,
  wrappedShape,
  itemShape,
];

/** Never nothing: a payload that no shape knows is text, a tree of JSON, or bytes. */
export function showPayload(payload: unknown, type: string): Shown {
  for (const shape of SHAPES) {
    const shown = shape.show(payload, type);
    if (shown !== undefined) return shown;
  }
  return { role: roleOf(type), blocks: [rest(payload, type)] };
}

function rest(payload: unknown, type: string): Block {
  if (typeof payload === 'string') {
    return /tool|result|output|log/i.test(type)
      ? { kind: 'result', text: payload, failed: false }
      : { kind: 'text', text: payload };
  }
  if (isFields(payload) && typeof payload['base64'] === 'string' && isLone(payload)) {
    return { kind: 'bytes', base64: payload['base64'] };
  }
  return { kind: 'json', value: payload };
}

function isLone(value: object): boolean {
  return Object.keys(value).length === 1;
}

function roleOf(type: string): Role {
  if (/tool/i.test(type)) return 'tool';
  const [, word] = /(?:^|[._-])(user|assistant|system)(?:[._-]|$)/.exec(type) ?? [];
  return toRole(word) ?? 'other';
}

/** One line for lists, branches and titles. */
export function summaryOf({ blocks }: Shown): string {
  for (const block of blocks) {
    if (block.kind === 'text' || block.kind === 'result') return block.text;
    if (block.kind === 'call') return `${block.name} ${callDetail(block.input)}`;
    if (block.kind === 'thinking') return block.text;
    if (block.kind === 'marker') return block.text ?? block.label;
    if (block.kind === 'json') return JSON.stringify(block.value);
    if (block.kind === 'image') return 'picture';
    if (block.kind === 'blob') return 'a long text';
    return 'bytes';
  }
  return '';
}

/** What a call is about: the path, command or query among its arguments. */
export function callDetail(input: unknown): string {
  if (typeof input === 'string') return input;
  if (!isFields(input)) return '';
  for (const name of ['file_path', 'path', 'command', 'cmd', 'pattern', 'query', 'url', 'prompt']) {
    const value = input[name];
    if (typeof value === 'string') return value;
    if (Array.isArray(value)) return value.join(' ');
  }
  return '';
}
