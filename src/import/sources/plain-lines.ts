import { isFields } from '../../base/fields.ts';
import { given } from '../../base/given.ts';
import { at, textAt, textOf, timeAt } from '../source/fields.ts';
import type { Source, SourceRecord, Taken, TurnHead } from '../source/source.ts';
import { SHOWS } from '../show/show-records.ts';
import { detailsOf, filesAt, readUsage, titleOf, turnOf } from './shared.ts';

// Plain formats, for histories of programs that have no source of their own: JSON Lines of messages, and the lines that
// `quipu export --as jsonl` and `quipu context last --json` write. A file is a session. It is
// known by its path: files of two folders may well have one name.

/** `{"role", "content" or "text", "id"?, "parentId"?, "timestamp"?, "model"?, "usage"?}`, and any other fields. */
export const jsonl: Source = createLines('jsonl', 'JSON Lines', readMessage);

/** A turn as JSON. */
export const quipuExport: Source = createLines('quipu', 'Quipu export', readTurn);

type ReadLine = (value: SourceRecord['value']) => {
  readonly parent: string | null | undefined;
  readonly head: TurnHead;
};

const END = /\.(?:jsonl|ndjson)$/;

function createLines(name: 'jsonl' | 'quipu', title: string, read: ReadLine): Source {
  return {
    name,
    title,
    homes: () => [],
    discover: (place) =>
      filesAt(place, {
        wants: (file) => END.test(file),
        about: ({ path }) => ({ session: path.replace(END, ''), form: 'lines' }),
      }),
    isRecord: isFields,
    read: () => ({ take: (record) => takeLine(record, read) }),
    show: SHOWS[name],
  };
}

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

const ROLES = new Set(['user', 'assistant', 'tool', 'system']);

function roleOf(role: string | undefined): TurnHead['role'] {
  return ROLES.has(role ?? '') ? (role as TurnHead['role']) : 'user';
}

function readMessage(value: SourceRecord['value']): ReturnType<ReadLine> {
  const parent = value['parentId'] ?? value['parent_id'];
  return {
    parent: typeof parent === 'string' || parent === null ? parent : undefined,
    head: given({
      at: timeAt(value, 'timestamp') ?? timeAt(value, 'created_at'),
      role: roleOf(textAt(value, 'role')),
      model: textAt(value, 'model'),
      usage: readUsage(at(value, 'usage')),
    }),
  };
}

function readTurn(value: SourceRecord['value']): ReturnType<ReadLine> {
  const parent = textAt(value, 'parent');
  return {
    parent: parent === '0' ? null : parent,
    head: given({ at: timeAt(value, 'createdAt'), role: roleOf(textAt(value, 'payload', 'role')) }),
  };
}
