import { contentBlocks, messageShape, namedBy, parsed, toResult } from './messages.ts';
import { isFields, textOf, toRole, type Fields, type Shape, type Shown } from './shown.ts';

// Records of agents: a message inside a record of Claude Code or pi, the items of Codex, and the calls and results that
// stand as turns of their own.

/** A record that wraps a message: `message` in Claude Code, pi and opencode, `payload` or `item` in Codex. */
export const wrappedShape: Shape = {
  name: 'record',
  show(payload, type) {
    if (!isFields(payload)) return undefined;
    for (const field of ['message', 'payload', 'item', 'data', 'info']) {
      const inner = payload[field];
      if (!isFields(inner)) continue;
      const shown = messageShape.show(inner, type) ?? itemShape.show(inner, type);
      if (shown !== undefined) return { ...namedBy(payload), ...shown };
    }
    return undefined;
  },
};

/** A call, a result, or thinking as a record of its own, as in Codex and in `tool.call` turns. */
export const itemShape: Shape = {
  name: 'item',
  show(payload, type) {
    if (!isFields(payload)) return undefined;
    const kind = textOf(payload['type']) ?? type;
    const id = textOf(payload['call_id']) ?? textOf(payload['id']);
    if (/(?:function|tool|custom_tool|local_shell)[._]?call$/i.test(kind)) {
      return toolTurn({ kind: 'call', name: nameOf(payload), input: argumentsOf(payload) }, id);
    }
    if (/(?:call_output|tool[._]?result)$/i.test(kind)) {
      const content = contentBlocks(payload['output'] ?? payload['content'] ?? payload['text']);
      return { role: 'tool', blocks: [toResult(payload, id, content)] };
    }
    if (kind === 'reasoning') {
      const text = contentBlocks(payload['summary'] ?? payload['content']);
      const thought = text.map((block) => ('text' in block ? block.text : '')).join('\n\n');
      return thought === '' ? undefined : { role: 'assistant', blocks: [thinking(thought)] };
    }
    const said =
      textOf(payload['content']) ?? textOf(payload['text']) ?? textOf(payload['message']);
    const role = toRole(kind) ?? roleOfType(type);
    if (said === undefined || role === undefined) return undefined;
    return { role, blocks: [{ kind: 'text', text: said }], ...namedBy(payload) };
  },
};

/** Marks of an imported history: compaction, rewind, a change of model. */
export const markerShape: Shape = {
  name: 'marker',
  show(payload, type) {
    if (!/(?:^|\.)marker$/.test(type) || !isFields(payload)) return undefined;
    const label = textOf(payload['kind']) ?? 'marker';
    const text = textOf(payload['summary']);
    return {
      role: 'system',
      blocks: [{ kind: 'marker', label, ...(text !== undefined && { text }) }],
    };
  },
};

const thinking = (text: string): Shown['blocks'][number] => ({ kind: 'thinking', text });

function toolTurn(
  call: { kind: 'call'; name: string; input: unknown },
  id: string | undefined,
): Shown {
  return { role: 'tool', blocks: [{ ...call, ...(id !== undefined && { id }) }] };
}

function nameOf(payload: Fields): string {
  return (
    textOf(payload['name']) ?? textOf(payload['tool']) ?? textOf(payload['toolName']) ?? 'tool'
  );
}

function argumentsOf(payload: Fields): unknown {
  const given = payload['arguments'] ?? payload['input'] ?? payload['args'] ?? payload['action'];
  return typeof given === 'string' ? parsed(given) : given;
}

function roleOfType(type: string): Shown['role'] | undefined {
  const [, word] = /(?:^|\.)(user|assistant|system|tool)(?:\.|$)/.exec(type) ?? [];
  return toRole(word);
}
