import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { canonicalJson } from '../../base/canonical-json.ts';
import { parseJsonLine } from '../../base/json-lines.ts';
import { isEnvelope } from '../show/show-records.ts';
import { at, inTable, listAt, textAt, textOf } from '../source/fields.ts';
import type { SourceRecord, TurnHead } from '../source/source.ts';
import { statFile } from '../source/walk-folder.ts';

// The parts of a record of Codex, and the names of its threads.

/** Events that repeat the text of an item, and who speaks in them. */
export const TEXT_EVENTS: Readonly<Record<string, TurnHead['role']>> = {
  user_message: 'user',
  agent_message: 'assistant',
  agent_reasoning: 'assistant',
};

export const ITEM_ROLES: Readonly<Record<string, TurnHead['role']>> = {
  UserMessage: 'user',
  AgentMessage: 'assistant',
  Reasoning: 'assistant',
  Plan: 'assistant',
};

const SPEAKERS: Readonly<Record<string, TurnHead['role']>> = {
  user: 'user',
  assistant: 'assistant',
  developer: 'system',
  system: 'system',
};

/** Without its time and number, which change when a file is written anew. */
export function contentOf(value: SourceRecord['value']): string {
  return isEnvelope(value)
    ? `${textAt(value, 'type') ?? ''} ${canonicalJson(at(value, 'payload'))}`
    : canonicalJson(value);
}

export function ordinalOf(value: SourceRecord['value']): string[] {
  const ordinal = value['ordinal'];
  return typeof ordinal === 'number' ? [`ord:${ordinal}`] : [];
}

export function itemText(item: unknown): string {
  const summary = listAt(item, 'summary');
  return textOf(summary.length > 0 ? summary : at(item, 'content'));
}

export function roleOf(type: string, item: unknown): TurnHead['role'] {
  if (type === 'message') return inTable(SPEAKERS, textAt(item, 'role')) ?? 'assistant';
  if (type === 'agent_message') return 'user';
  return type.endsWith('_output') ? 'tool' : 'assistant';
}

export function mark(text: string, role: TurnHead['role']): string {
  return `${role ?? ''} ${text.length} ${text.slice(0, 100)}`;
}

const INDEX_BYTES_MAX = 64 * 1024 * 1024;

/** The names of threads in `session_index.jsonl`; the last line of a thread counts. */
export async function readTitles(home: string): Promise<Map<string, string>> {
  const titles = new Map<string, string>();
  const found = await statFile(join(home, 'session_index.jsonl'));
  if (found === undefined || found.size > INDEX_BYTES_MAX) return titles;
  const text = await readFile(found.path, 'utf8').catch(() => '');
  for (const line of text.split('\n')) {
    for (const { value } of parseJsonLine(line, () => true).records) {
      const [id, title] = [textAt(value, 'id'), textAt(value, 'thread_name')];
      if (id !== undefined && title !== undefined) titles.set(id, title);
    }
  }
  return titles;
}
