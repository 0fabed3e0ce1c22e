import fc from 'fast-check';
import type { NewEvent } from '../../chat/events/event.ts';

// Events of all types over few ids, so that they meet: messages begun twice, deltas after the end, edits of messages
// that never were, redactions before the message.

const id = fc.constantFrom('a', 'b', 'c', 'd', 'e', '__proto__', 'constructor');
const text = fc.string({ unit: 'binary', maxLength: 12 });
const thread = fc.option(fc.constantFrom('main', 't1', 't2'), { nil: undefined });

function ofType(type: string, payload: fc.Arbitrary<object>): fc.Arbitrary<NewEvent> {
  return payload.map((given) => ({
    type,
    payload: Object.fromEntries(
      Object.entries(given).filter(([, value]) => value !== undefined),
    ) as NewEvent['payload'],
  }));
}

export const randomEvent: fc.Arbitrary<NewEvent> = fc.oneof(
  {
    weight: 4,
    arbitrary: ofType(
      'message_added',
      fc.record({ message_id: id, role: text, content: text, thread_id: thread }),
    ),
  },
  {
    weight: 6,
    arbitrary: ofType(
      'message_stream_delta',
      fc.record({
        message_id: id,
        delta: text,
        role: fc.option(text, { nil: undefined }),
        thread_id: thread,
      }),
    ),
  },
  {
    weight: 2,
    arbitrary: ofType(
      'message_completed',
      fc.record({ message_id: id, role: text, content: text, thread_id: thread }),
    ),
  },
  { weight: 2, arbitrary: ofType('message_edited', fc.record({ message_id: id, content: text })) },
  { weight: 1, arbitrary: ofType('message_redacted', fc.record({ message_id: id, reason: text })) },
  {
    weight: 1,
    arbitrary: ofType(
      'thread_forked',
      fc.record({ new_thread_id: fc.constantFrom('t1', 't2'), parent_message_id: id }),
    ),
  },
  {
    weight: 1,
    arbitrary: ofType(
      'attachment_added',
      fc.record({ attachment_id: text, hash: text, name: text, message_id: id }),
    ),
  },
  {
    weight: 1,
    arbitrary: ofType(
      'clarification_batch_opened',
      fc.record({ batch_id: id, questions: fc.constant([{ id: 'q', text: 't', kind: 'yes_no' }]) }),
    ),
  },
  {
    weight: 1,
    arbitrary: ofType(
      'clarification_answer_submitted',
      fc.record({
        batch_id: id,
        answers: fc.constantFrom([], [{ question_id: 'q', value: 'yes' }]),
      }),
    ),
  },
  { weight: 1, arbitrary: ofType('clarification_batch_dismissed', fc.record({ batch_id: id })) },
  { weight: 1, arbitrary: ofType('clarification_batch_redacted', fc.record({ batch_id: id })) },
  { weight: 1, arbitrary: ofType('made_up', fc.record({ message_id: id })) },
);
