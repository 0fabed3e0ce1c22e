import { hashText } from '../../base/hash.ts';
import type { Block, Usage } from '../source/source.ts';
import type { History, Said } from './read-history.ts';

// A history as a session file of another agent, so that it can go on there. Thoughts are left out: an agent takes only
// its own, with a signature. What is marked as meta is left out, too, because the other agent adds its own.

/** An id of the form that agents use, the same each time. */
function toUuid(text: string): string {
  const hex = hashText(text);
  const parts = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `4${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
  ];
  return `${parts.join('-')}-${hex.slice(20, 32)}`;
}

function sessionIdOf({ context }: History): string {
  return toUuid(`session ${context.id} ${context.createdAt}`);
}

/** What an agent expects, where the history does not say it. */
const CWD = '/';
const MODEL = 'unknown';

const NO_USAGE: Usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

async function* spoken(history: History): AsyncGenerator<Said> {
  for await (const said of history.turns()) {
    const { what, head, role, blocks } = said;
    if (what === 'marker' && head.summary !== undefined) {
      yield { ...said, role: 'user', blocks: [{ is: 'text', text: head.summary }] };
    } else if (what === 'message' && role !== 'system' && head.flags?.includes('meta') !== true) {
      const kept = blocks.filter(({ is }) => is !== 'thinking');
      if (kept.length > 0) yield { ...said, blocks: kept };
    }
  }
}

export async function* toClaudeCode(history: History): AsyncGenerator<object> {
  const sessionId = sessionIdOf(history);
  let parentUuid: string | null = null;
  for await (const said of spoken(history)) {
    const uuid = toUuid(`${sessionId} ${said.turn.id}`);
    const { usage = NO_USAGE, model = history.model ?? MODEL } = said.head;
    const content = said.blocks.flatMap(claudeBlock);
    const calls = said.blocks.some(({ is }) => is === 'call');
    yield {
      parentUuid,
      isSidechain: false,
      userType: 'external',
      cwd: history.cwd ?? CWD,
      sessionId,
      version: '2.1.100',
      type: said.role === 'assistant' ? 'assistant' : 'user',
      message:
        said.role === 'assistant'
          ? {
              id: `msg_${uuid.replaceAll('-', '')}`,
              type: 'message',
              role: 'assistant',
              model,
              content,
              stop_reason: calls ? 'tool_use' : 'end_turn',
              stop_sequence: null,
              usage: {
                input_tokens: usage.input,
                output_tokens: usage.output,
                cache_read_input_tokens: usage.cacheRead,
                cache_creation_input_tokens: usage.cacheWrite,
              },
            }
          : { role: 'user', content },
      uuid,
      timestamp: new Date(said.at).toISOString(),
    };
    parentUuid = uuid;
  }
}

function claudeBlock(block: Block): object[] {
  switch (block.is) {
    case 'text':
      return [{ type: 'text', text: block.text }];
    case 'call':
      return [{ type: 'tool_use', id: block.id, name: block.name, input: block.input ?? {} }];
    case 'result': {
      const content = [{ type: 'text', text: block.text }, ...block.images.flatMap(claudeBlock)];
      return [
        {
          type: 'tool_result',
          tool_use_id: block.id,
          content,
          ...(block.failed && { is_error: true }),
        },
      ];
    }
    case 'image':
      return [
        { type: 'image', source: { type: 'base64', media_type: block.mime, data: block.data } },
      ];
    case 'thinking':
      return [];
  }
}

export async function* toCodex(history: History): AsyncGenerator<object> {
  const id = sessionIdOf(history);
  const { cwd = CWD, model = MODEL, context } = history;
  const timestamp = new Date(context.createdAt).toISOString();
  const meta = { id, timestamp, cwd, originator: 'quipu', cli_version: '0.0.0', source: 'cli' };
  yield { timestamp, type: 'session_meta', payload: meta };
  yield { timestamp, type: 'turn_context', payload: { cwd, model } };
  for await (const { role, at, blocks } of spoken(history)) {
    for (const payload of codexItems(blocks, role)) {
      yield { timestamp: new Date(at).toISOString(), type: 'response_item', payload };
    }
  }
}

/** Texts and pictures of one message stay together; calls and results are items of their own. */
function codexItems(blocks: readonly Block[], role: Said['role']): object[] {
  const items: object[] = [];
  let content: object[] = [];
  const speaker = role === 'assistant' ? 'assistant' : 'user';
  const type = speaker === 'assistant' ? 'output_text' : 'input_text';
  const flush = (): void => {
    if (content.length > 0) items.push({ type: 'message', role: speaker, content });
    content = [];
  };
  for (const block of blocks) {
    if (block.is === 'text') content.push({ type, text: block.text });
    else if (block.is === 'image') content.push(codexImage(block));
    else if (block.is !== 'thinking') {
      flush();
      items.push(block.is === 'call' ? codexCall(block) : codexResult(block));
    }
  }
  flush();
  return items;
}

function codexCall({ id, name, input }: Block & { is: 'call' }): object {
  const given = typeof input === 'string' ? input : JSON.stringify(input ?? {});
  return { type: 'function_call', name, arguments: given, call_id: id };
}

function codexResult({ id, text, images }: Block & { is: 'result' }): object {
  const parts = [{ type: 'input_text', text }, ...images.map(codexImage)];
  return { type: 'function_call_output', call_id: id, output: images.length === 0 ? text : parts };
}

function codexImage({ mime, data }: Block & { is: 'image' }): object {
  return { type: 'input_image', image_url: `data:${mime};base64,${data}` };
}

export async function* toPi(history: History): AsyncGenerator<object> {
  const id = sessionIdOf(history);
  const { cwd = CWD, context } = history;
  const timestamp = new Date(context.createdAt).toISOString();
  yield { type: 'session', version: 3, id, timestamp, cwd };
  const names = new Map<string, string>();
  let parentId: string | null = null;
  for await (const said of spoken(history)) {
    for (const [index, message] of piMessages(said, history, names).entries()) {
      const entry: string = hashText(`${id} ${said.turn.id} ${index}`).slice(0, 8);
      yield {
        type: 'message',
        id: entry,
        parentId,
        timestamp: new Date(said.at).toISOString(),
        message: { ...message, timestamp: said.at },
      };
      parentId = entry;
    }
  }
}

function piMessages(
  { role, blocks, head }: Said,
  { model = MODEL }: History,
  names: Map<string, string>,
): object[] {
  for (const block of blocks) if (block.is === 'call') names.set(block.id, block.name);
  if (role === 'assistant') {
    const name = head.model ?? model;
    const [provider = 'unknown', ...rest] = name.includes('/')
      ? name.split('/')
      : ['unknown', name];
    const usage = head.usage ?? NO_USAGE;
    const totalTokens = usage.input + usage.output + usage.cacheRead + usage.cacheWrite;
    const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
    const calls = blocks.some(({ is }) => is === 'call');
    return [
      {
        role,
        content: blocks.flatMap(piBlock),
        api: 'unknown',
        provider,
        model: rest.join('/'),
        usage: { ...usage, totalTokens, cost },
        stopReason: calls ? 'toolUse' : 'stop',
      },
    ];
  }
  const results = blocks.flatMap((block) =>
    block.is === 'result'
      ? [
          {
            role: 'toolResult',
            toolCallId: block.id,
            toolName: names.get(block.id) ?? 'tool',
            content: [{ type: 'text', text: block.text }, ...block.images.flatMap(piBlock)],
            isError: block.failed,
          },
        ]
      : [],
  );
  const said = blocks.filter(({ is }) => is !== 'result').flatMap(piBlock);
  return said.length === 0 ? results : [...results, { role: 'user', content: said }];
}

function piBlock(block: Block): object[] {
  switch (block.is) {
    case 'text':
      return [{ type: 'text', text: block.text }];
    case 'call':
      return [{ type: 'toolCall', id: block.id, name: block.name, arguments: block.input ?? {} }];
    case 'image':
      return [{ type: 'image', data: block.data, mimeType: block.mime }];
    case 'result':
    case 'thinking':
      return [];
  }
}
