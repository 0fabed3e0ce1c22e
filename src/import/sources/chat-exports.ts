import { isFields } from '../../base/fields.ts';
import { basename, dirname } from 'node:path';
import { given } from '../../base/given.ts';
import { at, inTable, textAt, textOf, timeAt } from '../source/fields.ts';
import type { Source, SourceRecord, Taken, TurnHead } from '../source/source.ts';
import { SHOWS } from '../show/show-records.ts';
import { asTitle, detailsOf, filesAt, flagsOf, titleOf } from './shared.ts';

// ChatGPT and Claude.ai export "your data" as `conversations.json`, one list of all conversations. Each is a
// tree of messages. The export may be larger than memory, so its items are read one at a time.

const NAME = /^conversations(?:-[0-9]+)?\.json$/;

interface ChatNode {
  readonly id: string;
  readonly parent: string | null;
  readonly value: unknown;
  /** Undefined for a node that only links others. */
  readonly head: TurnHead | undefined;
}

interface Chat {
  readonly id: string;
  readonly title: string | undefined;
  readonly startedAt: number | undefined;
  readonly model: string | undefined;
  /** The main branch last. */
  readonly nodes: readonly ChatNode[];
  /** The rest of the record, without its messages. */
  readonly about: object;
}

export const chatGpt: Source = createExport('chatgpt', 'ChatGPT export', readChatGpt);
export const claudeAi: Source = createExport('claude-ai', 'Claude.ai export', readClaudeAi);

type ReadChat = (value: SourceRecord['value']) => Chat | undefined;

function createExport(name: 'chatgpt' | 'claude-ai', title: string, read: ReadChat): Source {
  return {
    name,
    title,
    homes: () => [],
    discover: (place) =>
      filesAt(place, {
        wants: (file) => NAME.test(file),
        about: ({ path }) => ({
          session: `${basename(dirname(path))}/${basename(path)}`,
          form: 'list',
          details: {},
        }),
      }),
    isRecord: isFields,
    read: () => ({ take: (record) => takeChat(record, read) }),
    show: SHOWS[name],
  };
}

function takeChat({ value, raw }: SourceRecord, read: ReadChat): readonly Taken[] {
  const chat = read(value);
  if (chat === undefined) return [{ do: 'aside', raw }];
  const { id: session, title, startedAt, model, nodes, about } = chat;
  const first = nodes.find(({ head }) => head?.role === 'user' && head.flags === undefined);
  return [
    ...detailsOf({ title: asTitle(title), startedAt, model }, session),
    ...titleOf(textOf(at(first?.value, 'text'))).map((item) => ({ ...item, session })),
    { do: 'aside', session, raw: JSON.stringify(about) },
    ...nodes.map((node) => toTaken(session, node)),
  ];
}

function toTaken(session: string, { id, parent, value, head }: ChatNode): Taken {
  const raw = JSON.stringify(value);
  if (head === undefined) return { do: 'aside', session, id, parent, raw };
  return { do: 'turn', session, what: 'message', parts: [{ id, raw, value }], parent, head };
}

const ROLES: Readonly<Record<string, TurnHead['role']>> = {
  user: 'user',
  human: 'user',
  assistant: 'assistant',
  tool: 'tool',
  system: 'system',
};

function readChatGpt(value: SourceRecord['value']): Chat | undefined {
  const id = textAt(value, 'conversation_id') ?? textAt(value, 'id');
  const { mapping, ...about } = value;
  if (id === undefined || !isFields(mapping)) return undefined;
  const ids = Object.keys(mapping);
  const main = new Set(pathTo(mapping, textAt(value, 'current_node')));
  // The main branch is the newest: its nodes come last.
  const ordered = [...ids.filter((node) => !main.has(node)), ...[...main].toReversed()];
  const nodes = ordered.map((node): ChatNode => {
    const message = at(mapping[node], 'message');
    const parent = textAt(mapping[node], 'parent') ?? null;
    return { id: node, parent, value: mapping[node], head: headOfGpt(message) };
  });
  const models = nodes.map(({ head }) => head?.model).filter((model) => model !== undefined);
  return {
    id,
    title: textAt(value, 'title'),
    startedAt: timeAt(value, 'create_time'),
    model: models.at(-1),
    nodes,
    about,
  };
}

/** The nodes from a leaf to the root. A circle ends where it began. */
function pathTo(mapping: Readonly<Record<string, unknown>>, leaf: string | undefined): string[] {
  const path = new Set<string>();
  for (let node = leaf; node !== undefined && Object.hasOwn(mapping, node) && !path.has(node);) {
    path.add(node);
    node = textAt(mapping[node], 'parent');
  }
  return [...path];
}

function headOfGpt(message: unknown): TurnHead | undefined {
  if (!isFields(message)) return undefined;
  const role = inTable(ROLES, textAt(message, 'author', 'role')) ?? 'system';
  const hidden = at(message, 'metadata', 'is_visually_hidden_from_conversation') === true;
  return given({
    at: timeAt(message, 'create_time'),
    role,
    model: textAt(message, 'metadata', 'model_slug'),
    flags: flagsOf({ meta: hidden || role === 'system' }),
  });
}

const NO_PARENT = '00000000-0000-4000-8000-000000000000';

function readClaudeAi(value: SourceRecord['value']): Chat | undefined {
  const id = textAt(value, 'uuid');
  const { chat_messages: messages, ...about } = value;
  if (id === undefined || !Array.isArray(messages)) return undefined;
  let before: string | null = null;
  const nodes = messages.filter(isFields).map((message, index): ChatNode => {
    const own = textAt(message, 'uuid') ?? `message ${index}`;
    const parent = textAt(message, 'parent_message_uuid') ?? before;
    before = own;
    const head = given({
      at: timeAt(message, 'created_at'),
      role: inTable(ROLES, textAt(message, 'sender')) ?? ('system' as const),
    });
    return { id: own, parent: parent === NO_PARENT ? null : parent, value: message, head };
  });
  return {
    id,
    title: textAt(value, 'name') || undefined,
    startedAt: timeAt(value, 'created_at'),
    model: undefined,
    nodes,
    about,
  };
}
