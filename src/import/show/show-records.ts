import { isFields } from '../../base/fields.ts';
import type { Block, ImageBlock } from '../source/source.ts';
import { at, inTable, listAt, textAt, textOf } from '../source/fields.ts';

// What the records of each source say. It is pure and needs no Node, because web pages show imported histories, too.

type Agent = 'claude-code' | 'codex' | 'pi' | 'omp' | 'opencode' | 'gemini' | 'copilot';
type Format = 'chatgpt' | 'claude-ai' | 'jsonl' | 'quipu';

type Show = (block: unknown) => readonly Block[];

/** Shows a block by its `type`. */
function byType(table: Readonly<Record<string, Show>>, others: Show): Show {
  return (block) => (inTable(table, textAt(block, 'type')) ?? others)(block);
}

/** No block for no text. */
function toText(text: string | undefined): readonly Block[] {
  return text === undefined || text === '' ? [] : [{ is: 'text', text }];
}

function toCall(id: string | undefined, name: string | undefined, input: unknown): Block {
  return { is: 'call', id: id ?? '', name: name ?? '', input };
}

function toResult(
  id: string | undefined,
  text: string | undefined,
  { failed = false, images = [] }: { failed?: boolean; images?: readonly ImageBlock[] } = {},
): Block {
  return { is: 'result', id: id ?? '', text: text ?? '', failed, images };
}

/** No block for no data. */
function toImage(data: string | undefined, mime: string | undefined): ImageBlock[] {
  return data === undefined ? [] : [{ is: 'image', mime: mime ?? 'image/png', data }];
}

/** The picture of a `data:` URL. */
function toImageOfUrl(url: string | undefined): ImageBlock[] {
  const [, mime, data] = /^data:([^;,]+);base64,(.*)$/s.exec(url ?? '') ?? [];
  return toImage(data, mime);
}

// What stands in a block, by the names of its fields.

const text =
  (field: string): Show =>
  (block) => [{ is: 'text', text: textAt(block, field) ?? '' }];

const thinking =
  (field: string): Show =>
  (block) => [{ is: 'thinking', text: textAt(block, field) ?? '' }];

const call =
  (id: string, name: string, input: string): Show =>
  (block) => [toCall(textAt(block, id), textAt(block, name), at(block, input))];

const showClaudeBlock: Show = byType(
  {
    text: text('text'),
    thinking: thinking('thinking'),
    tool_use: call('id', 'name', 'input'),
    server_tool_use: call('id', 'name', 'input'),
    tool_result: (block) => {
      const failed = at(block, 'is_error') === true;
      const images = listAt(block, 'content').flatMap(claudeImage);
      const said = textOf(at(block, 'content'));
      return [toResult(textAt(block, 'tool_use_id'), said, { failed, images })];
    },
  },
  claudeImage,
);

function claudeImage(block: unknown): ImageBlock[] {
  if (textAt(block, 'type') !== 'image') return [];
  return toImage(textAt(block, 'source', 'data'), textAt(block, 'source', 'media_type'));
}

/** The content of a message of Anthropic's interface: text, or a list of blocks. */
function showBlocks(content: unknown): readonly Block[] {
  if (typeof content === 'string') return toText(content);
  return Array.isArray(content) ? content.flatMap(showClaudeBlock) : [];
}

/** From September 2025 on, a record of Codex is `{timestamp, type, payload}`. */
export function isEnvelope(value: unknown): boolean {
  return isFields(value) && isFields(value['payload']) && typeof value['type'] === 'string';
}

/** The content of an item of OpenAI's interface for responses. */
const showCodexItem: Show = byType(
  {
    message: showCodexParts,
    agent_message: showCodexParts,
    user_message: (item) => toText(textAt(item, 'message')),
    reasoning: (item) =>
      [...listAt(item, 'summary'), ...listAt(item, 'content')].flatMap((part) =>
        textAt(part, 'text') === undefined ? [] : thinking('text')(part),
      ),
    agent_reasoning: thinking('text'),
    item_completed: (item) =>
      toText(textOf(at(item, 'item', 'content')) || textAt(item, 'item', 'text')),
  },
  showCodexCall,
);

function showCodexParts(item: unknown): readonly Block[] {
  return listAt(item, 'content').flatMap((part) =>
    textAt(part, 'text') === undefined ? codexImage(part) : text('text')(part),
  );
}

function showCodexCall(item: unknown): readonly Block[] {
  const type = textAt(item, 'type') ?? '';
  const id = textAt(item, 'call_id') ?? textAt(item, 'id') ?? '';
  if (type.endsWith('_output')) {
    const output = at(item, 'output');
    const shown =
      typeof output === 'string' ? output : textOf(output ?? at(item, 'output', 'content'));
    const images = Array.isArray(output) ? output.flatMap(codexImage) : [];
    return [toResult(id, shown, { images })];
  }
  if (!type.endsWith('_call')) return [];
  const name = textAt(item, 'name') ?? type.replace(/_call$/, '');
  const input =
    parseArguments(textAt(item, 'arguments')) ?? at(item, 'input') ?? at(item, 'action');
  return [toCall(id, name, input)];
}

function parseArguments(given: string | undefined): unknown {
  try {
    return given === undefined ? undefined : (JSON.parse(given) as unknown);
  } catch {
    // The model may write what is no JSON.
    return given;
  }
}

function codexImage(part: unknown): ImageBlock[] {
  return toImageOfUrl(textAt(part, 'image_url'));
}

function showPi(entry: unknown): readonly Block[] {
  const message = at(entry, 'message') ?? entry;
  const role = textAt(message, 'role');
  if (role === 'toolResult') {
    const failed = at(message, 'isError') === true;
    const images = listAt(message, 'content').flatMap(piImage);
    const said = textOf(at(message, 'content'));
    return [toResult(textAt(message, 'toolCallId'), said, { failed, images })];
  }
  if (role === 'bashExecution' || role === 'pythonExecution') {
    const input = { command: textAt(message, 'command') ?? textAt(message, 'code') ?? '' };
    return [toCall('', role, input), toResult('', textAt(message, 'output'))];
  }
  const content = at(message, 'content');
  if (typeof content === 'string') return [{ is: 'text', text: content }];
  if (textAt(entry, 'summary') !== undefined) return text('summary')(entry);
  return Array.isArray(content) ? content.flatMap(showPiBlock) : [];
}

const showPiBlock: Show = byType(
  {
    text: text('text'),
    thinking: thinking('thinking'),
    toolCall: call('id', 'name', 'arguments'),
  },
  piImage,
);

function piImage(block: unknown): ImageBlock[] {
  if (textAt(block, 'type') !== 'image') return [];
  return toImage(textAt(block, 'data'), textAt(block, 'mimeType'));
}

function showGemini(message: unknown): readonly Block[] {
  return [...showGeminiParts(at(message, 'content')), ...showGeminiCalls(message)];
}

function showGeminiParts(content: unknown): readonly Block[] {
  if (typeof content === 'string') return toText(content);
  return (Array.isArray(content) ? content : [content]).flatMap((part): Block[] => {
    const said = textAt(part, 'text');
    if (said !== undefined)
      return [{ is: at(part, 'thought') === true ? 'thinking' : 'text', text: said }];
    const response = at(part, 'functionResponse');
    if (response !== undefined) return [showGeminiResponse(response)];
    return toImage(textAt(part, 'inlineData', 'data'), textAt(part, 'inlineData', 'mimeType'));
  });
}

function showGeminiResponse(response: unknown): Block {
  const output = at(response, 'response', 'output') ?? at(response, 'response') ?? '';
  const said = typeof output === 'string' ? output : JSON.stringify(output);
  const failed = at(response, 'response', 'error') !== undefined;
  return toResult(textAt(response, 'id'), said, { failed });
}

function showGeminiCalls(message: unknown): readonly Block[] {
  const thoughts = listAt(message, 'thoughts').map((thought): Block => ({
    is: 'thinking',
    text: `${textAt(thought, 'subject') ?? ''} ${textAt(thought, 'description') ?? ''}`.trim(),
  }));
  return [...thoughts, ...listAt(message, 'toolCalls').flatMap(call('id', 'name', 'args'))];
}

function showCopilot(event: unknown): readonly Block[] {
  const data = at(event, 'data');
  if (textAt(event, 'type') === 'tool.execution_complete') {
    const failed = at(data, 'success') === false;
    const shown = textAt(data, 'result', 'content') ?? textAt(data, 'error', 'message');
    return [toResult(textAt(data, 'toolCallId'), shown, { failed })];
  }
  return [
    ...(textAt(data, 'reasoningText') === undefined ? [] : thinking('reasoningText')(data)),
    ...toText(textAt(data, 'content') ?? textAt(data, 'summaryContent')),
    ...listAt(data, 'toolRequests').flatMap(call('toolCallId', 'name', 'arguments')),
  ];
}

const showOpencodePart: Show = byType(
  {
    text: text('text'),
    reasoning: thinking('text'),
    tool: (part) => {
      const id = textAt(part, 'callID');
      const state = at(part, 'state');
      const failed = textAt(state, 'status') === 'error';
      const said = textAt(state, 'output') ?? textAt(state, 'error');
      const images = listAt(state, 'attachments').flatMap(opencodeImage);
      return [
        toCall(id, textAt(part, 'tool'), at(state, 'input')),
        toResult(id, said, { failed, images }),
      ];
    },
  },
  opencodeImage,
);

function opencodeImage(part: unknown): ImageBlock[] {
  return toImageOfUrl(textAt(part, 'url'));
}

function showChatGpt(message: unknown): readonly Block[] {
  const content = at(message, 'content');
  const type = textAt(content, 'content_type');
  const id = textAt(message, 'author', 'name') ?? '';
  if (type === 'code') return [toCall(id, 'code', textAt(content, 'text') ?? '')];
  if (type === 'execution_output') return [toResult(id, textAt(content, 'text'))];
  if (type === 'thoughts') {
    const said = listAt(content, 'thoughts').map((thought) => textAt(thought, 'content') ?? '');
    return [{ is: 'thinking', text: said.join('\n') }];
  }
  return toText(textOf(listAt(content, 'parts')) || textAt(content, 'text'));
}

function showClaudeAi(message: unknown): readonly Block[] {
  const content = showBlocks(at(message, 'content'));
  const said = content.length > 0 ? content : showBlocks(textAt(message, 'text') ?? '');
  const attached = listAt(message, 'attachments').flatMap((file): Block[] => {
    const extracted = textAt(file, 'extracted_content');
    return extracted === undefined ? [] : [{ is: 'text', text: extracted }];
  });
  return [...said, ...attached];
}

function showPayload(payload: unknown): readonly Block[] {
  if (typeof payload === 'string') return showBlocks(payload);
  const content = at(payload, 'content') ?? at(payload, 'text');
  return content === undefined ? showBlocks(JSON.stringify(payload) ?? '') : showBlocks(content);
}

/** By the name of the source. */
export const SHOWS: Readonly<Record<Agent | Format, Show>> = {
  'claude-code': (record) =>
    showBlocks(at(record, 'message', 'content') ?? at(record, 'attachment', 'prompt')),
  codex: (record) => showCodexItem(isEnvelope(record) ? at(record, 'payload') : record),
  pi: showPi,
  omp: showPi,
  opencode: (record) => listAt(record, 'parts').flatMap(showOpencodePart),
  gemini: showGemini,
  copilot: showCopilot,
  chatgpt: (node) => showChatGpt(at(node, 'message')),
  'claude-ai': showClaudeAi,
  jsonl: (record) => showBlocks(at(record, 'content') ?? at(record, 'text') ?? ''),
  quipu: (record) => showPayload(at(record, 'payload')),
};
