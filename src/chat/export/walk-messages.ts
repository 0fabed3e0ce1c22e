import type { ChatView } from '../chat-view.ts';
import { visibleIn } from '../messages/find-messages.ts';
import { mergeParts } from '../projections/message-part.ts';
import type { MessagePart } from '../projections/message-part.ts';
import { addPart } from '../projections/messages.ts';
import type { MessageParts } from '../projections/messages.ts';

/** Yields the messages of a branch from the first on, as they are when the walk begins. */
export async function* walkMessages(
  view: ChatView,
  branch: string,
): AsyncGenerator<MessagePart, void, undefined> {
  const start = await view.run(async (now) => {
    const touches: MessageParts = new Map();
    const tail = await now.tail();
    for (let segment = 0; segment < now.segments.count; segment += 1) {
      // Changes from before the beginning of a message do not count.
      if (touches.size > 0) drop(touches, await now.segments.begunIn(segment));
      for (const touch of await now.segments.touchedIn(segment)) addPart(touches, touch);
    }
    drop(touches, tail.begun);
    for (const touch of tail.touched) addPart(touches, touch);
    const isVisible = await visibleIn(now, branch);
    return { touches, isVisible, segments: now.segments.count, tail: tail.begun };
  });
  const select = (parts: readonly MessagePart[]): MessagePart[] =>
    parts.filter(start.isVisible).map((part) => {
      const touch = start.touches.get(part.id);
      return touch === undefined ? part : mergeParts(part, touch);
    });
  for (let segment = 0; segment < start.segments; segment += 1) {
    yield* select(await view.run((now) => now.segments.begunIn(segment)));
  }
  yield* select(start.tail);
}

function drop(touches: MessageParts, begun: readonly MessagePart[]): void {
  for (const { id } of begun) touches.delete(id);
}
