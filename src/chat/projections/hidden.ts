import type { ChatEvent } from '../events/event.ts';
import { HIDDEN_MAX } from '../limits.ts';
import type { Projection } from '../projection.ts';

/**
 * The subjects of redactions. The redaction of a message counts when the message had begun, which other code checks.
 */
export interface Hidden {
  readonly messages: readonly string[];
  readonly batches: readonly string[];
}

export const hiddenProjection: Projection<Hidden> = {
  name: 'hidden',
  version: 1,
  initial: () => ({ messages: [], batches: [] }),
  apply(hidden: Hidden, { type, payload }: ChatEvent): Hidden {
    if (type === 'message_redacted') {
      return { ...hidden, messages: withId(hidden.messages, payload['message_id']) };
    }
    if (type === 'clarification_batch_redacted') {
      return { ...hidden, batches: withId(hidden.batches, payload['batch_id']) };
    }
    return hidden;
  },
};

function withId(ids: readonly string[], id: unknown): readonly string[] {
  const isFull = ids.length >= HIDDEN_MAX;
  return isFull || typeof id !== 'string' || ids.includes(id) ? ids : [...ids, id];
}
