import { canonicalJson } from '../../base/canonical-json.ts';
import { at, isObject, listAt, textAt, textOf } from '../source/fields.ts';
import type { SourceRecord, TurnHead } from '../source/source.ts';

// The parts of a record of Codex.

/** From September 2025 on, a record is `{timestamp, type, payload}`. */
export function isEnvelope(value: unknown): boolean {
  return isObject(value) && isObject(value['payload']) && typeof value['type'] === 'string';
}

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
  if (type === 'message') return SPEAKERS[textAt(item, 'role') ?? ''] ?? 'assistant';
  if (type === 'agent_message') return 'user';
  return type.endsWith('_output') ? 'tool' : 'assistant';
}
