import { toCall, toImage, toImageOfUrl, toResult, toText } from '../source/block.ts';
import type { Block, ImageBlock } from '../source/block.ts';
import { at, listAt, textAt, textOf } from '../source/fields.ts';
import { showBlocks } from './claude-blocks.ts';
import { showRecord as showCodex } from './codex-items.ts';

// What the records of each source say. It is pure and needs no Node, because web pages show imported histories, too.

type Agent = 'claude-code' | 'codex' | 'pi' | 'omp' | 'opencode' | 'gemini' | 'copilot';
type Format = 'chatgpt' | 'claude-ai' | 'jsonl' | 'quipu';

/** By the name of the source. */
export const SHOWS: Readonly<Record<Agent | Format, (record: unknown) => readonly Block[]>> = {
  'claude-code': (record) =>
    showBlocks(at(record, 'message', 'content') ?? at(record, 'attachment', 'prompt')),
  codex: showCodex,
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

function showPi(entry: unknown): readonly Block[] {
  const message = at(entry, 'message') ?? entry;
  const role = textAt(message, 'role');
  if (role === 'toolResult') {
    const failed = at(message, 'isError') === true;
    const images = listAt(message, 'content').flatMap(piImage);
    const text = textOf(at(message, 'content'));
    return [toResult(textAt(message, 'toolCallId'), text, { failed, images })];
  }
  if (role === 'bashExecution' || role === 'pythonExecution') {
    const input = { command: textAt(message, 'command') ?? textAt(message, 'code') ?? '' };
    return [toCall('', role, input), toResult('', textAt(message, 'output'))];
  }
  const content = at(message, 'content');
  if (typeof content === 'string') return [{ is: 'text', text: content }];
  const summary = textAt(entry, 'summary');
  if (summary !== undefined) return [{ is: 'text', text: summary }];
  return Array.isArray(content) ? content.flatMap(showPiBlock) : [];
}

function showPiBlock(block: unknown): Block[] {
  switch (textAt(block, 'type') ?? '') {
    case 'text':
      return [{ is: 'text', text: textAt(block, 'text') ?? '' }];
    case 'thinking':
      return [{ is: 'thinking', text: textAt(block, 'thinking') ?? '' }];
    case 'toolCall':
      return [toCall(textAt(block, 'id'), textAt(block, 'name'), at(block, 'arguments'))];
    default:
      return piImage(block);
  }
}

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
    const text = textAt(part, 'text');
    if (text !== undefined)
      return [{ is: at(part, 'thought') === true ? 'thinking' : 'text', text }];
    const response = at(part, 'functionResponse');
    if (response !== undefined) return [showGeminiResponse(response)];
    return toImage(textAt(part, 'inlineData', 'data'), textAt(part, 'inlineData', 'mimeType'));
  });
}

function showGeminiResponse(response: unknown): Block {
  const output = at(response, 'response', 'output') ?? at(response, 'response') ?? '';
  const text = typeof output === 'string' ? output : JSON.stringify(output);
  const failed = at(response, 'response', 'error') !== undefined;
  return toResult(textAt(response, 'id'), text, { failed });
}

function showGeminiCalls(message: unknown): readonly Block[] {
  const thoughts = listAt(message, 'thoughts').map((thought): Block => ({
    is: 'thinking',
    text: `${textAt(thought, 'subject') ?? ''} ${textAt(thought, 'description') ?? ''}`.trim(),
  }));
  const calls = listAt(message, 'toolCalls').map((call) =>
    toCall(textAt(call, 'id'), textAt(call, 'name'), at(call, 'args')),
  );
  return [...thoughts, ...calls];
}

function showCopilot(event: unknown): readonly Block[] {
  const data = at(event, 'data');
  if (textAt(event, 'type') === 'tool.execution_complete') {
    const failed = at(data, 'success') === false;
    const shown = textAt(data, 'result', 'content') ?? textAt(data, 'error', 'message');
    return [toResult(textAt(data, 'toolCallId'), shown, { failed })];
  }
  const reasoning = textAt(data, 'reasoningText');
  const calls = listAt(data, 'toolRequests').map((call) =>
    toCall(textAt(call, 'toolCallId'), textAt(call, 'name'), at(call, 'arguments')),
  );
  return [
    ...(reasoning === undefined ? [] : [{ is: 'thinking' as const, text: reasoning }]),
    ...toText(textAt(data, 'content') ?? textAt(data, 'summaryContent')),
    ...calls,
  ];
}

function showOpencodePart(part: unknown): Block[] {
  switch (textAt(part, 'type') ?? '') {
    case 'text':
      return [{ is: 'text', text: textAt(part, 'text') ?? '' }];
    case 'reasoning':
      return [{ is: 'thinking', text: textAt(part, 'text') ?? '' }];
    case 'tool': {
      const id = textAt(part, 'callID');
      const state = at(part, 'state');
      const failed = textAt(state, 'status') === 'error';
      const text = textAt(state, 'output') ?? textAt(state, 'error');
      const images = listAt(state, 'attachments').flatMap(opencodeImage);
      return [
        toCall(id, textAt(part, 'tool'), at(state, 'input')),
        toResult(id, text, { failed, images }),
      ];
    }
    default:
      return opencodeImage(part);
  }
}

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
    const text = listAt(content, 'thoughts').map((thought) => textAt(thought, 'content') ?? '');
    return [{ is: 'thinking', text: text.join('\n') }];
  }
  return toText(textOf(listAt(content, 'parts')) || textAt(content, 'text'));
}

function showClaudeAi(message: unknown): readonly Block[] {
  const content = showBlocks(at(message, 'content'));
  const text = textAt(message, 'text') ?? '';
  const said = content.length > 0 ? content : showBlocks(text);
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
