import type { ChatEvent } from '../events/event.ts';
import type { Answer, BatchPayload } from '../events/payloads.ts';
import type { ChatView } from '../handle/chat-view.ts';
import type { ClarificationBatch } from '../handle/chats.ts';
import type { BatchPlace } from '../projections/clarification.ts';
import { hideEvents } from './event-verbs.ts';

/** Reads the questions of a batch with their answers from the log. Call this within `view.run`. */
export async function loadBatch(view: ChatView, place: BatchPlace): Promise<ClarificationBatch> {
  const { batch_id, opened, closed, outcome } = place;
  const asked = await readEvent(view, opened);
  const ended = closed === undefined ? undefined : await readEvent(view, closed);
  return toBatch({ batch_id, seq: opened, state: outcome ?? 'open' }, asked, {
    ended,
    isRedacted: view.overview.hidden.batches.includes(batch_id),
  });
}

async function readEvent(view: ChatView, seq: number): Promise<ChatEvent | undefined> {
  const [line] = await view.read(seq - 1, 1);
  return line?.event && (await hideEvents(view, [line.event]))[0];
}

/** Puts the answers of a batch beside its questions. Lines that cannot be read leave their part out. */
function toBatch(
  place: Pick<ClarificationBatch, 'batch_id' | 'seq' | 'state'>,
  asked: ChatEvent | undefined,
  { ended, isRedacted }: { readonly ended: ChatEvent | undefined; readonly isRedacted: boolean },
): ClarificationBatch {
  const { title, questions = [] } = (asked?.payload ?? {}) as Partial<BatchPayload>;
  const { answers = [], reason } = (place.state === 'replaced' ? {} : (ended?.payload ?? {})) as {
    readonly answers?: readonly Answer[];
    readonly reason?: string;
  };
  const values = new Map(answers.map(({ question_id, value }) => [question_id, value]));
  return {
    ...place,
    at: asked?.at ?? '',
    ...(title !== undefined && { title }),
    questions: questions.map((question) => {
      const answer = values.get(question.id);
      return { ...question, ...(answer !== undefined && { answer }) };
    }),
    ...(ended !== undefined && { closedAt: ended.at }),
    ...(reason !== undefined && reason !== '' && { reason }),
    ...(isRedacted && { redacted: true }),
  };
}
