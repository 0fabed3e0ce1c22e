import { blankEvent } from './blank-line.ts';
import type { ChatView } from '../chat-view.ts';
import type { ChatEvent } from './event.ts';
import { findPart } from '../messages/find-messages.ts';
import { isAbout } from '../messages/subject.ts';
import type { Subject } from '../messages/subject.ts';

/**
 * Returns events as readers see them: without their content about messages and batches that were redacted, as far as
 * that is known now. Call this within `view.run`.
 */
export async function hideEvents(
  view: ChatView,
  events: readonly ChatEvent[],
): Promise<readonly ChatEvent[]> {
  const { messages, batches } = view.overview.hidden;
  if (messages.length === 0 && batches.length === 0) return events;
  const [named, closed] = [new Set(messages), new Set(batches)];
  const redacted = new Map<string, boolean>();
  const shown: ChatEvent[] = [];
  for (const event of events) {
    const { message_id: message, batch_id: batch } = event.payload;
    let left = event;
    if (typeof batch === 'string' && closed.has(batch)) {
      left = blanked(left, { kind: 'clarification', id: batch });
    }
    if (typeof message === 'string' && named.has(message)) {
      const isHidden = redacted.get(message) ?? (await isRedacted(view, message));
      redacted.set(message, isHidden);
      if (isHidden) left = blanked(left, { kind: 'message', id: message });
    }
    shown.push(left);
  }
  return shown;
}

/** A redaction that came before its message does not count. */
async function isRedacted(view: ChatView, message: string): Promise<boolean> {
  return (await findPart(view, message))?.redacted !== undefined;
}

function blanked(event: ChatEvent, subject: Subject): ChatEvent {
  return isAbout(event, subject) ? blankEvent(event, subject) : event;
}
