import { basename, dirname } from 'node:path';
import { isFields } from '../../base/fields.ts';
import { given } from '../../base/given.ts';
import { at, inTable, textAt, textOf, timeAt } from '../source/fields.ts';
import type { Source, SourceRecord, Taken, TurnHead } from '../source/source.ts';
import { SHOWS } from '../show/show-records.ts';
import { asTitle, detailsOf, filesAt, flagsOf, readUsage, titleOf, turnOf } from './shared.ts';
import type { AboutFile } from './shared.ts';
import type { FoundFile } from '../source/walk-folder.ts';

// Formats of files that people name, because no program keeps them at a place of its own.

type Name = 'chatgpt' | 'claude-ai' | 'jsonl' | 'quipu';

function createFormat(
  name: Name,
  title: string,
  files: Parameters<typeof filesAt>[1],
  take: (record: SourceRecord) => readonly Taken[],
): Source {
  return {
    name,
    title,
    homes: () => [],
    discover: (place) => filesAt(place, files),
    isRecord: isFields,
    read: () => ({ take }),
    show: SHOWS[name],
  };
}

const ROLES: Readonly<Record<string, TurnHead['role']>> = {
  user: 'user',
  human: 'user',
  assistant: 'assistant',
  tool: 'tool',
  system: 'system',
};

// ChatGPT and Claude.ai export "your data" as `conversations.json`, one list of all conversations. Each is a
// tree of messages. The export may be larger than memory, so its items are read one at a time.

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

type ReadChat = (value: SourceRecord['value']) => Chat | undefined;

function createExport(name: Name, title: string, read: ReadChat): Source {
  const files = {
    wants: (file: string) => /^conversations(?:-[0-9]+)?\.json$/.test(file),
    about: ({ path }: FoundFile): AboutFile => {
      const session = `${basename(dirname(path))}/${basename(path)}`;
      return { session, form: 'list', details: {} };
    },
  };
  return createFormat(name, title, files, (record) => takeChat(record, read));
}

export const chatGpt: Source = createExport('chatgpt', 'ChatGPT export', readChatGpt);
export const claudeAi: Source = createExport('claude-ai', 'Claude.ai export', readClaudeAi);

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

// Plain formats, for histories of programs that have no source of their own: JSON Lines of messages, and the lines that
// `quipu export --as jsonl` and `quipu context last --json` write. A file is a session. It is
// known by its path: files of two folders may well have one name.

type ReadLine = (value: SourceRecord['value']) => {
  readonly parent: string | null | undefined;
  readonly head: TurnHead;
};

function createLines(name: Name, title: string, read: ReadLine): Source {
  const end = /\.(?:jsonl|ndjson)$/;
  const files = {
    wants: (file: string) => end.test(file),
    about: ({ path }: FoundFile): AboutFile => ({ session: path.replace(end, ''), form: 'lines' }),
  };
  return createFormat(name, title, files, (record) => takeLine(record, read));
}

/** `{"role", "content" or "text", "id"?, "parentId"?, "timestamp"?, "model"?, "usage"?}`, and any other fields. */
export const jsonl: Source = createLines('jsonl', 'JSON Lines', readMessage);

/** A turn as JSON. */
export const quipuExport: Source = createLines('quipu', 'Quipu export', readTurn);

function takeLine(record: SourceRecord, read: ReadLine): readonly Taken[] {
  const { value } = record;
  const { parent, head } = read(value);
  const said =
    head.role === 'user' ? titleOf(textOf(at(value, 'content') ?? at(value, 'text'))) : [];
  return [
    ...detailsOf({ model: head.model, cwd: textAt(value, 'cwd') }),
    ...said,
    turnOf(record, 'message', head, { parent }),
  ];
}

function readMessage(value: SourceRecord['value']): ReturnType<ReadLine> {
  const parent = value['parentId'] ?? value['parent_id'];
  return {
    parent: typeof parent === 'string' || parent === null ? parent : undefined,
    head: given({
      at: timeAt(value, 'timestamp') ?? timeAt(value, 'created_at'),
      role: inTable(ROLES, textAt(value, 'role')) ?? 'user',
      model: textAt(value, 'model'),
      usage: readUsage(at(value, 'usage')),
    }),
  };
}

function readTurn(value: SourceRecord['value']): ReturnType<ReadLine> {
  const parent = textAt(value, 'parent');
  return {
    parent: parent === '0' ? null : parent,
    head: given({
      at: timeAt(value, 'createdAt'),
      role: inTable(ROLES, textAt(value, 'payload', 'role')) ?? 'user',
    }),
  };
}
