import {
  isFields,
  textOf,
  toRole,
  toTokens,
  type Block,
  type Fields,
  type Shape,
  type Shown,
} from './shown.ts';

// Messages with a role, as chat programs and providers write them: plain text, content parts of Anthropic and OpenAI,
// parts of AI SDK UI messages.

export const messageShape: Shape = {
  name: 'message',
  show(payload) {
    if (!isFields(payload)) return undefined;
    const role = toRole(payload['role']);
    if (role === undefined) return undefined;
    const blocks = [
      ...contentBlocks(payload['content'] ?? payload['parts'] ?? payload['text']),
      ...openAiCalls(payload['tool_calls']),
    ];
    const id = textOf(payload['tool_call_id']) ?? textOf(payload['toolCallId']);
    const shown: Shown = {
      role,
      blocks: role === 'tool' && id !== undefined ? [toResult(payload, id, blocks)] : blocks,
      ...namedBy(payload),
    };
    return shown.blocks.length === 0 && !isMessage(payload) ? undefined : shown;
  },
};

export function namedBy(message: Fields): Pick<Shown, 'name' | 'model' | 'tokens'> {
  const name = textOf(message['name']) ?? textOf(message['agentName']);
  const model = textOf(message['model']);
  const tokens = toTokens(message['usage'] ?? message['tokens'] ?? message['usageMetadata']);
  return {
    ...(name !== undefined && { name }),
    ...(model !== undefined && { model }),
    ...(tokens !== undefined && { tokens }),
  };
}

function isMessage(payload: Fields): boolean {
  return 'content' in payload || 'parts' in payload || 'text' in payload;
}

/** A text, a list of parts, or one part. */
export function contentBlocks(content: unknown): Block[] {
  if (content === undefined || content === null || content === '') return [];
  if (typeof content === 'string') return [{ kind: 'text', text: content }];
  if (Array.isArray(content)) return content.flatMap(partBlocks);
  return partBlocks(content);
}

function partBlocks(part: unknown): Block[] {
  if (typeof part === 'string') return [{ kind: 'text', text: part }];
  if (!isFields(part)) return [{ kind: 'json', value: part }];
  const type = textOf(part['type']) ?? '';
  const text = textOf(part['text']) ?? textOf(part['input_text']) ?? textOf(part['output_text']);
  if (/^(?:text|input_text|output_text|summary_text)$/.test(type) && text !== undefined) {
    return text === '' ? [] : [{ kind: 'text', text }];
  }
  if (/^(?:thinking|reasoning|redacted_thinking)$/.test(type)) {
    const thought = textOf(part['thinking']) ?? text ?? '';
    return thought === '' ? [] : [{ kind: 'thinking', text: thought }];
  }
  const call = toCall(part, type);
  if (call !== undefined) return call;
  const image = toImage(part, type);
  if (image !== undefined) return [image];
  if (type === 'step-start') return [];
  // Gemini gives parts no type.
  if (text !== undefined && type === '') return [{ kind: 'text', text }];
  return [{ kind: 'json', value: part }];
}

function toCall(part: Fields, type: string): Block[] | undefined {
  const id = textOf(part['tool_use_id']) ?? textOf(part['toolCallId']) ?? textOf(part['id']);
  const given = id === undefined ? {} : { id };
  if (/^(?:tool_use|toolCall|tool-call|server_tool_use|function_call)$/.test(type)) {
    const name = textOf(part['name']) ?? textOf(part['toolName']) ?? 'tool';
    return [{ kind: 'call', ...given, name, input: inputOf(part) }];
  }
  if (/^(?:tool_result|tool-result|toolResult)$/.test(type)) {
    return [toResult(part, id, contentBlocks(part['content'] ?? part['output'] ?? part['result']))];
  }
  // A tool part of an AI SDK UI message is a call and, later, its result.
  const [, tool] = /^tool-(.+)$/.exec(type) ?? [];
  if (tool === undefined && type !== 'dynamic-tool') return undefined;
  const name = tool ?? textOf(part['toolName']) ?? 'tool';
  const call: Block = { kind: 'call', ...given, name, input: part['input'] };
  const output = part['output'] ?? part['errorText'];
  if (output === undefined) return [call];
  const failed = part['errorText'] !== undefined;
  return [call, { kind: 'result', ...given, name, text: asText(output), failed }];
}

function inputOf(part: Fields): unknown {
  const input = part['input'] ?? part['arguments'] ?? part['args'];
  return typeof input === 'string' ? parsed(input) : input;
}

/** Arguments are JSON in a text; a text that is no JSON is shown as it is. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export function toResult(
  part: Fields,
  id: string | undefined,
  content: readonly Block[],
): Block & { kind: 'result' } {
  const text = content
    .map((block) => ('text' in block ? (block.text ?? '') : asText(block)))
    .join('\n');
  const name = textOf(part['name']) ?? textOf(part['toolName']) ?? textOf(part['tool_name']);
  return {
    kind: 'result',
    ...(id !== undefined && { id }),
    ...(name !== undefined && { name }),
    text,
    failed: part['is_error'] === true || part['isError'] === true,
  };
}

function toImage(part: Fields, type: string): Block | undefined {
  if (!/^(?:image|input_image|image_url|file)$/.test(type)) return undefined;
  const source = isFields(part['source']) ? part['source'] : part;
  const mediaType =
    textOf(source['media_type']) ?? textOf(source['mimeType']) ?? textOf(source['mediaType']);
  const nested = isFields(part['image_url']) ? textOf(part['image_url']['url']) : undefined;
  const data =
    textOf(source['data']) ?? nested ?? textOf(part['image_url']) ?? textOf(source['url']);
  if (data === undefined) return undefined;
  const [, given, inline] = /^data:([\w/+.-]+);base64,(.*)$/s.exec(data) ?? [];
  const type2 = given ?? mediaType ?? 'image/png';
  if (type === 'file' && !type2.startsWith('image/')) return undefined;
  if (/^blob:sha256:[0-9a-f]{64}$/.test(data)) {
    return { kind: 'image', mediaType: type2, ref: data };
  }
  if (inline !== undefined) return { kind: 'image', mediaType: type2, base64: inline };
  if (/^[\w+/=\s]+$/.test(data.slice(0, 256))) {
    return { kind: 'image', mediaType: type2, base64: data };
  }
  return { kind: 'marker', label: 'image', text: data };
}

function openAiCalls(calls: unknown): Block[] {
  if (!Array.isArray(calls)) return [];
  return calls.filter(isFields).map((call) => {
    const made = isFields(call['function']) ? call['function'] : call;
    const id = textOf(call['id']);
    const name = textOf(made['name']) ?? 'tool';
    return { kind: 'call', ...(id !== undefined && { id }), name, input: inputOf(made) };
  });
}

export function asText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}
