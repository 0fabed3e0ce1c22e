import type { ChatEvent } from '../events/event.ts';
import type { Projection } from '../projection.ts';
import { mergeParts, partOf } from './message-part.ts';
import type { MessagePart } from './message-part.ts';

/** Every message that some events are about, by its id. */
export type MessageParts = Map<string, MessagePart>;

/** All messages of a chat. Large chats are read in pages instead, from folds of parts of the log. */
export const messagesProjection: Projection<MessageParts> = {
  name: 'messages',
  version: 1,
  initial: () => new Map(),
  apply(state: MessageParts, event: ChatEvent): MessageParts {
    const part = partOf(event);
    if (part !== undefined) addPart(state, part);
    return state;
  },
  freeze: (state) => [...state.values()],
  thaw: (frozen) => toParts(frozen as readonly MessagePart[]),
};

export function addPart(parts: MessageParts, part: MessagePart): void {
  const known = parts.get(part.id);
  parts.set(part.id, known === undefined ? part : mergeParts(known, part));
}

export function toParts(list: Iterable<MessagePart>): MessageParts {
  const parts: MessageParts = new Map();
  for (const part of list) parts.set(part.id, part);
  return parts;
}

/** Returns the messages that really began, in the order they were begun. */
export function inOrder(parts: MessageParts): MessagePart[] {
  return [...parts.values()].filter(({ first }) => first > 0).toSorted(byPlace);
}

export function byPlace(a: MessagePart, b: MessagePart): number {
  return a.first - b.first;
}
