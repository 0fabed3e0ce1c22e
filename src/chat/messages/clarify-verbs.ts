import { only } from '../../base/check-value.ts';
import { exists, invalid, tooLarge } from '../../base/errors.ts';
import { given } from '../../base/given.ts';
import { checkBounded, checkLine } from '../../base/text.ts';
import type { ChatEvent, JsonObject } from '../events/event.ts';
import {
  BATCHES_MAX,
  LINE_PAYLOAD_BYTES,
  PAGE_BYTES_MAX,
  REASON_BYTES_MAX,
  TITLE_CHARS_MAX,
} from '../events/limits.ts';
import { checkId, newId } from '../events/names.ts';
import { payloadProblem, type Answer, type BatchPayload } from '../events/payloads.ts';
import type { ChatView } from '../handle/chat-view.ts';
import type { ChatHandle } from '../handle/chat-writer.ts';
import type { Chat, ClarificationBatch, ClarificationPage } from '../handle/chats.ts';
import {
  answersProblem,
  questionsProblem,
  type BatchPlace,
  type OpenClarification,
} from '../projections/clarification.ts';
import { hideEvents } from './event-verbs.ts';
import { checkPage } from './find-messages.ts';

type ClarifyVerbs = Pick<Chat, 'ask' | 'answer' | 'dismiss' | 'clarifications'>;

export function clarifyVerbs({ home, view, writer }: ChatHandle): ClarifyVerbs {
  return {
    async ask(questions, options = {}) {
      const { id = newId(home.clock()), title } = options;
      const batch_id = checkId(id, 'batch');
      if (title !== undefined) checkLine(title, 'title', TITLE_CHARS_MAX);
      const payload = { batch_id, ...given({ title }), questions };
      assertFits('clarification_batch_opened', payload);
      const wrong = questionsProblem(questions);
      if (wrong !== undefined) throw invalid('questions', `are not valid: ${wrong}`);
      await writer.decide(({ overview: { clarification, batches } }) => {
        const { open } = clarification;
        if (batches.some((batch) => batch.batch_id === batch_id)) {
          const message = `the chat has a batch ${batch_id} already; choose another id`;
          throw exists('batch', batch_id, message);
        }
        if (open !== undefined) {
          const first = `batch ${open.batch_id} is open; answer or dismiss it first`;
          throw invalid('questions', `must wait: ${first}`);
        }
        if (batches.length >= BATCHES_MAX) {
          throw invalid('questions', `are one batch too many: a chat has at most ${BATCHES_MAX}`);
        }
        return [{ type: 'clarification_batch_opened', payload }];
      });
      return batch_id;
    },

    async answer(batch, answers) {
      const payload = { batch_id: checkId(batch, 'batch'), answers };
      assertFits('clarification_answer_submitted', payload);
      const events = await writer.decide((view) => {
        const wrong = answersProblem(mustBeOpen(view, batch).questions, answers);
        if (wrong !== undefined) throw invalid('answers', `do not fit: ${wrong}`);
        return [{ type: 'clarification_answer_submitted', payload }];
      });
      return only(events);
    },

    async dismiss(batch, reason) {
      if (reason !== undefined) checkBounded(reason, 'reason', REASON_BYTES_MAX);
      const payload = { batch_id: checkId(batch, 'batch'), ...given({ reason }) };
      const events = await writer.decide((view) => {
        mustBeOpen(view, batch);
        return [{ type: 'clarification_batch_dismissed', payload }];
      });
      return only(events);
    },

    async clarifications(query = {}) {
      const { before, limit } = checkPage(query, 1);
      return view.run(() => readBatches(view, before, limit));
    },
  };
}

/** Call this within `view.run`. */
async function readBatches(
  view: ChatView,
  before: number,
  limit: number,
): Promise<ClarificationPage> {
  const batches: ClarificationBatch[] = [];
  let bytes = 0;
  for (const place of view.overview.batches.toReversed()) {
    if (place.opened >= before) continue;
    if (batches.length === limit || bytes > PAGE_BYTES_MAX) {
      return { batches: batches.toReversed(), before: batches.at(-1)?.seq ?? 0 };
    }
    const batch = await loadBatch(view, place);
    bytes += JSON.stringify(batch).length;
    batches.push(batch);
  }
  return { batches: batches.toReversed() };
}

/** The state of a chat contains the questions, so they must stay short. */
function assertFits(type: string, payload: JsonObject): void {
  const wrong = payloadProblem(type, payload);
  if (wrong !== undefined) throw invalid('payload', `of ${type} does not fit: ${wrong}`);
  const size = Buffer.byteLength(JSON.stringify(payload));
  if (size <= LINE_PAYLOAD_BYTES) return;
  const message = `questions and answers take ${size} bytes, and ${LINE_PAYLOAD_BYTES} is the limit`;
  throw tooLarge(type, LINE_PAYLOAD_BYTES, size, message);
}

function mustBeOpen({ overview }: ChatView, batch: string): OpenClarification {
  const { open } = overview.clarification;
  if (open?.batch_id === batch) return open;
  const now = open === undefined ? 'no batch is open' : `batch ${open.batch_id} is open`;
  throw invalid('batch', `${batch} is not open: ${now}`);
}

/**
 * Reads the questions of a batch with their answers from the log. Lines that cannot be read leave their part out. Call
 * this within `view.run`.
 */
export async function loadBatch(view: ChatView, place: BatchPlace): Promise<ClarificationBatch> {
  const { batch_id, opened, closed, outcome: state = 'open' } = place;
  const asked = await readEvent(view, opened);
  const ended = closed === undefined ? undefined : await readEvent(view, closed);
  const { title, questions = [] } = (asked?.payload ?? {}) as Partial<BatchPayload>;
  const said = state === 'replaced' ? {} : (ended?.payload ?? {});
  const { answers = [], reason } = said as { answers?: readonly Answer[]; reason?: string };
  const values = new Map(answers.map(({ question_id, value }) => [question_id, value]));
  return {
    batch_id,
    seq: opened,
    state,
    at: asked?.at ?? '',
    ...given({ title }),
    questions: questions.map((question) => ({
      ...question,
      ...given({ answer: values.get(question.id) }),
    })),
    ...(ended !== undefined && { closedAt: ended.at }),
    ...(reason !== undefined && reason !== '' && { reason }),
    ...(view.overview.hidden.batches.includes(batch_id) && { redacted: true }),
  };
}

async function readEvent(view: ChatView, seq: number): Promise<ChatEvent | undefined> {
  const [line] = await view.read(seq - 1, 1);
  return line?.event && (await hideEvents(view, [line.event]))[0];
}
