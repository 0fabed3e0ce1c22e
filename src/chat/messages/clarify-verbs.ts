import { checkWhole, only } from '../../base/check-value.ts';
import { exists, invalid, tooLarge, type QuipuError } from '../../base/errors.ts';
import { checkBounded, checkLine } from '../../base/text.ts';
import type { ChatEvent, JsonObject } from '../events/event.ts';
import {
  BATCHES_MAX,
  LINE_PAYLOAD_BYTES,
  PAGE_BYTES_MAX,
  PAGE_MESSAGES_DEFAULT,
  PAGE_MESSAGES_MAX,
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

type ClarifyVerbs = Pick<Chat, 'ask' | 'answer' | 'dismiss' | 'clarifications'>;

export function clarifyVerbs({ home, view, writer }: ChatHandle): ClarifyVerbs {
  return {
    async ask(questions, options = {}) {
      const { id = newId(home.clock()), title } = options;
      const batch_id = checkId(id, 'batch');
      if (title !== undefined) checkLine(title, 'title', TITLE_CHARS_MAX);
      const payload = { batch_id, ...(title !== undefined && { title }), questions };
      assertFits('clarification_batch_opened', payload);
      const wrong = questionsProblem(questions);
      if (wrong !== undefined) throw invalid('questions', `are not valid: ${wrong}`);
      await writer.decide(({ overview: { clarification, batches } }) => {
        const { open } = clarification;
        if (batches.some((batch) => batch.batch_id === batch_id)) throw batchExists(batch_id);
        if (open !== undefined) {
          throw invalid(
            'questions',
            `must wait: batch ${open.batch_id} is open; answer or dismiss it first`,
          );
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
      const said =
        reason === undefined ? {} : { reason: checkBounded(reason, 'reason', REASON_BYTES_MAX) };
      const payload = { batch_id: checkId(batch, 'batch'), ...said };
      const events = await writer.decide((view) => {
        mustBeOpen(view, batch);
        return [{ type: 'clarification_batch_dismissed', payload }];
      });
      return only(events);
    },

    async clarifications(query = {}) {
      const { before = Infinity, limit = PAGE_MESSAGES_DEFAULT } = query;
      if (before !== Infinity) checkWhole(before, 'before', 0, Number.MAX_SAFE_INTEGER);
      checkWhole(limit, 'limit', 1, PAGE_MESSAGES_MAX);
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

function batchExists(id: string): QuipuError<'EXISTS'> {
  return exists('batch', id, `the chat has a batch ${id} already; choose another id`);
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
