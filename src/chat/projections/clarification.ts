import type { ChatEvent, ChatProblem } from '../events/event.ts';
import type { Answer, BatchPayload } from '../events/payloads.ts';
import type { Projection } from '../projection.ts';
import { answersProblem } from '../clarifications/check-clarification.ts';

export interface OpenClarification extends BatchPayload {
  /** The event that opened it. */
  readonly seq: number;
  readonly at: string;
}

export interface Clarification {
  /** The batch that waits for answers. */
  readonly open?: OpenClarification;
  readonly answered: number;
  readonly dismissed: number;
  /** The last batch that was closed, and the way it was closed. */
  readonly last?: {
    readonly batch_id: string;
    readonly outcome: 'answered' | 'dismissed';
    readonly answers: readonly Answer[];
    /** Its questions and answers are hidden. */
    readonly redacted?: true;
  };
}

/**
 * One batch of questions is open at a time. A batch opened over another takes its place, and a batch that is redacted
 * while it is open is dismissed.
 */
export const clarificationProjection: Projection<Clarification> = {
  name: 'clarification',
  version: 2,
  initial: () => ({ answered: 0, dismissed: 0 }),
  apply(state: Clarification, event: ChatEvent): Clarification {
    // Most events are about something else.
    if (!event.type.startsWith('clarification_')) return state;
    if (clarificationProblem(state, event)?.kind === 'clarification' && !isOpening(event)) {
      return state;
    }
    const { type, payload, seq, at } = event;
    const { open: _, ...closed } = state;
    if (type === 'clarification_batch_opened') {
      const { batch_id, title, questions } = payload as unknown as BatchPayload;
      const named = title === undefined ? {} : { title };
      return { ...closed, open: { seq, at, batch_id, ...named, questions } };
    }
    const batch_id = String(payload['batch_id']);
    if (type === 'clarification_answer_submitted') {
      const answers = payload['answers'] as readonly Answer[];
      const last = { batch_id, outcome: 'answered', answers } as const;
      return { ...closed, answered: state.answered + 1, last };
    }
    if (type === 'clarification_batch_dismissed') {
      const last = { batch_id, outcome: 'dismissed', answers: [] } as const;
      return { ...closed, dismissed: state.dismissed + 1, last };
    }
    return type === 'clarification_batch_redacted' ? redacted(state, batch_id) : state;
  },
};

function redacted(state: Clarification, batch_id: string): Clarification {
  const { open, ...closed } = state;
  const last = { batch_id, outcome: 'dismissed', answers: [], redacted: true } as const;
  if (open?.batch_id === batch_id) return { ...closed, dismissed: state.dismissed + 1, last };
  if (state.last?.batch_id !== batch_id) return state;
  return { ...state, last: { ...last, outcome: state.last.outcome } };
}

function isOpening({ type }: ChatEvent): boolean {
  return type === 'clarification_batch_opened';
}

/** Returns the problem to report of an event, given the state before it. */
export function clarificationProblem(
  { open }: Clarification,
  { type, payload, seq }: ChatEvent,
): ChatProblem | undefined {
  const report = (message: string): ChatProblem => ({ seq, kind: 'clarification', message });
  const batch = String(payload['batch_id']);
  switch (type) {
    case 'clarification_batch_opened':
      return open === undefined
        ? undefined
        : report(`batch ${batch} was opened while ${open.batch_id} was open`);
    case 'clarification_answer_submitted': {
      if (open?.batch_id !== batch) return report(`batch ${batch} is not open, and was answered`);
      const wrong = answersProblem(open.questions, payload['answers'] as readonly Answer[]);
      return wrong === undefined ? undefined : report(`batch ${batch}: ${wrong}`);
    }
    case 'clarification_batch_dismissed':
      return open?.batch_id === batch ? undefined : report(`batch ${batch} is not open`);
    default:
      return undefined;
  }
}
