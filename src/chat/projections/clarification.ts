import type { ChatEvent, ChatProblem } from '../events/event.ts';
import { BATCHES_MAX, OPTIONS_MAX, QUESTIONS_MAX } from '../events/limits.ts';
import type { Answer, BatchPayload, Question } from '../events/payloads.ts';
import type { Projection } from './projection.ts';

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
  apply(state, event) {
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

/** Where the events of a batch are. The texts stay in the log, so that an erasure need not look here. */
export interface BatchPlace {
  readonly batch_id: string;
  /** The event that opened the batch. */
  readonly opened: number;
  /** The event that closed the batch, and how; absent while the batch is open. */
  readonly closed?: number;
  readonly outcome?: 'answered' | 'dismissed' | 'replaced';
}

/** Notes what an event did to the batches, given the state before and after it. */
export function addPlace(
  places: readonly BatchPlace[],
  { seq }: ChatEvent,
  { before, after }: { readonly before: Clarification; readonly after: Clarification },
): readonly BatchPlace[] {
  if (before.open === after.open) return places;
  const wasOpen = before.open?.seq;
  const outcome: BatchPlace['outcome'] & string =
    after.open === undefined ? (after.last?.outcome ?? 'dismissed') : 'replaced';
  const closed = places.map((place) =>
    place.opened === wasOpen ? { ...place, closed: seq, outcome } : place,
  );
  if (after.open === undefined || closed.length >= BATCHES_MAX) return closed;
  return [...closed, { batch_id: after.open.batch_id, opened: seq }];
}

// The rules of questions and answers, for writing and for reading alike.

/** Returns the problem of a batch of questions; undefined when it may be asked. */
export function questionsProblem(questions: readonly Question[]): string | undefined {
  if (questions.length === 0) return 'there are no questions';
  if (questions.length > QUESTIONS_MAX) return `there are more than ${QUESTIONS_MAX} questions`;
  const ids = new Set<string>();
  for (const { id, text, kind, options } of questions) {
    if (isBlank(id)) return 'a question has an empty id';
    if (ids.has(id)) return `question ${id} is there twice`;
    ids.add(id);
    if (isBlank(text)) return `question ${id} has no text`;
    const chooses = kind === 'single' || kind === 'multiple';
    if (chooses !== (options !== undefined)) {
      return chooses ? `question ${id} has no options` : `question ${id} takes no options`;
    }
    if (options !== undefined) {
      const wrong = optionsProblem(options);
      if (wrong !== undefined) return `question ${id} ${wrong}`;
    }
  }
  return undefined;
}

function isBlank(text: string): boolean {
  return text.trim() === '';
}

function optionsProblem(options: readonly string[]): string | undefined {
  if (options.length === 0 || options.length > OPTIONS_MAX) {
    return `has 1 to ${OPTIONS_MAX} options, not ${options.length}`;
  }
  if (options.some(isBlank)) return 'has an empty option';
  return new Set(options).size === options.length ? undefined : 'has an option twice';
}

/** Returns the problem of these answers; undefined when they answer every question. */
export function answersProblem(
  questions: readonly Question[],
  answers: readonly Answer[],
): string | undefined {
  const open = new Map(questions.map((question) => [question.id, question]));
  const given = new Set<string>();
  for (const { question_id: id, value } of answers) {
    const question = open.get(id);
    if (question === undefined) return `there is no question ${id}`;
    if (given.has(id)) return `question ${id} is answered twice`;
    given.add(id);
    const wrong = valueProblem(question, value);
    if (wrong !== undefined) return `the answer to ${id} ${wrong}`;
  }
  const missing = questions.find(({ id }) => !given.has(id));
  return missing === undefined ? undefined : `question ${missing.id} has no answer`;
}

function valueProblem(
  { kind, options = [] }: Question,
  value: Answer['value'],
): string | undefined {
  switch (kind) {
    case 'single':
      return typeof value === 'string' && options.includes(value)
        ? undefined
        : `is one of its options, word for word`;
    case 'multiple': {
      if (typeof value === 'string') return 'is a list of its options';
      const fits = value.every((one) => options.includes(one));
      return fits && new Set(value).size === value.length
        ? undefined
        : 'has only its options, each once';
    }
    case 'yes_no':
      return value === 'yes' || value === 'no' ? undefined : 'is "yes" or "no"';
    case 'text':
      return typeof value === 'string' && value !== '' ? undefined : 'is a text that is not empty';
  }
}
