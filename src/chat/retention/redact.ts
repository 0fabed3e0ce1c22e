import { toHash } from '../../base/brand.ts';
import { checkBoolean } from '../../base/check-value.ts';
import { invalid, notFound } from '../../base/errors.ts';
import { checkBounded } from '../../base/text.ts';
import type { Engine } from '../../engine/engine.ts';
import { blankLine, redactionOf, type Subject, isAttachment } from '../events/payloads.ts';
import { logLines, readPages } from '../events/chat-lines.ts';
import type { ChatEvent } from '../events/event.ts';
import { HIDDEN_MAX, REASON_BYTES_MAX } from '../events/limits.ts';
import { checkId, eventsLog } from '../events/names.ts';
import { assertWritable, type ChatHandle, type ChatsHome } from '../handle/chat-writer.ts';
import type { Chat, RedactOptions, RedactReport } from '../handle/chats.ts';
import { mustFind } from '../messages/find-messages.ts';
import type { Hidden } from '../projections/overview.ts';
import { segmentOf } from '../segments/segment-line.ts';
import { eraseArchives } from './archive.ts';

// Redaction is an event: it hides the text of a message, or the questions and answers of a batch, from every reader,
// for good. Erasing goes on from there: the lines are overwritten without their text, the folds that had the text are
// made again, and then the blobs go. An erasure that is interrupted anywhere can be done again.

const PAGE_LINES = 1024;
/** Deltas may come in while a message is erased. A writer that streams on and on is asked to stop. */
const ROUNDS_MAX = 5;

interface Target {
  readonly seq: number;
  readonly text: string;
  readonly blob?: string;
}

interface Found {
  readonly targets: readonly Target[];
  /** The segments of all lines about the subject, including lines that have nothing to lose any more. */
  readonly segments: ReadonlySet<number>;
  readonly unreadable: number;
}

type Wish = Required<Omit<RedactOptions, 'erase'>>;

export function redactVerbs(handle: ChatHandle): Pick<Chat, 'redact' | 'redactBatch'> {
  const { view } = handle;

  async function redact(subject: Subject, options: RedactOptions): Promise<RedactReport> {
    const { erase = false, everywhere = false } = options;
    const reason = checkBounded(options.reason, 'reason', REASON_BYTES_MAX);
    checkBoolean(erase, 'erase');
    checkBoolean(everywhere, 'everywhere');
    await view.run((now) => assertWritable(now));
    if (erase) return eraseSubject(handle, subject, { reason, everywhere });
    const [event] = await handle.writer.decide(async (now) => {
      const { isHidden } = await mustKnow(handle, subject);
      if (!isHidden) assertRoom(now.overview.hidden);
      return isHidden ? [] : [redactionOf(subject, { reason })];
    });
    const none = { erasedLines: 0, erasedBlobs: 0, unreadableLines: 0, kept: [] };
    return { ...(event && { event }), ...none };
  }

  return {
    async redact(message, options) {
      return redact({ kind: 'message', id: checkId(message, 'message') }, options);
    },
    async redactBatch(batch, options) {
      return redact({ kind: 'clarification', id: checkId(batch, 'batch') }, options);
    },
  };
}

/** Throws NOT_FOUND when no event of the chat is about the subject. Call this within `view.run`. */
async function mustKnow(
  handle: ChatHandle,
  subject: Subject,
): Promise<{ isHidden: boolean; isErased: boolean; attached: readonly string[] }> {
  const { view } = handle;
  if (subject.kind === 'message') {
    const { redacted, attachments } = await mustFind(view, subject.id);
    const attached = attachments.map(({ hash }) => hash);
    return { isHidden: redacted !== undefined, isErased: redacted?.erased === true, attached };
  }
  const { hidden, clarification } = view.overview;
  const isHidden = hidden.batches.includes(subject.id);
  const { open, last } = clarification;
  const isRecent = open?.batch_id === subject.id || last?.batch_id === subject.id;
  if (isHidden || isRecent || (await findTargets(handle, subject)).segments.size > 0) {
    return { isHidden, isErased: false, attached: [] };
  }
  throw notFound('batch', subject.id, `there is no batch of questions ${subject.id}`);
}

function assertRoom({ messages, batches }: Hidden): void {
  if (Math.max(messages.length, batches.length) < HIDDEN_MAX) return;
  throw invalid('erase', `is needed: the chat has ${HIDDEN_MAX} redactions, and remembers no more`);
}

async function eraseSubject(
  handle: ChatHandle,
  subject: Subject,
  wish: Wish,
): Promise<RedactReport> {
  const { view } = handle;
  const { attached } = await view.run(() => mustKnow(handle, subject));
  const first = await hide(handle, subject, wish.reason);
  let [erasedLines, erasedBlobs] = [0, 0];
  let { found } = first;
  // The loop runs at least once: an earlier erasure may have been cut off after the lines.
  for (let round = 0; ; round += 1) {
    erasedLines += found.targets.length;
    erasedBlobs += await eraseFound(handle, subject, found);
    found = await findTargets(handle, subject);
    if (found.targets.length === 0) break;
    if (round === ROUNDS_MAX - 1)
      throw invalid(subject.kind, `${subject.id} is being written; stop that first`);
  }
  const archived = await eraseArchives(handle);
  const { erased, kept } = await eraseAttached(handle, attached, { ...wish, message: subject.id });
  return {
    ...(first.event && { event: first.event }),
    erasedLines,
    erasedBlobs: erasedBlobs + archived + erased,
    unreadableLines: first.found.unreadable,
    kept,
  };
}

/** Appends the event first: from here on no reader sees the text, whatever happens to the rest. */
async function hide(
  handle: ChatHandle,
  subject: Subject,
  reason: string,
): Promise<{ found: Found; event?: ChatEvent }> {
  let found: Found = { targets: [], segments: new Set(), unreadable: 0 };
  const [event] = await handle.writer.decide(async () => {
    const { isHidden, isErased } = await mustKnow(handle, subject);
    found = await findTargets(handle, subject);
    // The event has no hash of the erased texts: a hash would let anyone check a guess.
    const lines = found.targets.map(({ seq }) => ({ seq }));
    const isDone = isErased || (isHidden && lines.length === 0);
    return isDone ? [] : [redactionOf(subject, { reason, erased: true, lines })];
  });
  return { found, ...(event && { event }) };
}

/** Finds every line of the log with content about the subject. */
async function findTargets({ home, view }: ChatHandle, subject: Subject): Promise<Found> {
  const lines = logLines(home.engine, view.id);
  const targets: Target[] = [];
  const segments = new Set<number>();
  let unreadable = 0;
  for (let from = 0; ; from += PAGE_LINES) {
    const page = await lines(from, PAGE_LINES);
    for (const [at, line] of page.entries()) {
      if (typeof line !== 'string') {
        unreadable += 1;
        continue;
      }
      // Most lines are about other subjects, and need not be parsed.
      const blanked = line.includes(subject.id) ? blankLine(line, subject) : undefined;
      if (blanked === undefined) continue;
      segments.add(segmentOf(from + at + 1));
      const { text, ref } = blanked;
      if (text === line.trimEnd()) continue;
      targets.push({ seq: from + at + 1, text, ...(ref && { blob: ref.hash }) });
    }
    if (page.length < PAGE_LINES) return { targets, segments, unreadable };
  }
}

/**
 * Erases the blobs that lines name before the lines, which alone know them. Folds go last, because blank lines, too,
 * tell which segments have them. Returns the number of blobs.
 */
async function eraseFound(
  { home: { engine }, view }: ChatHandle,
  { kind }: Subject,
  { targets, segments }: Found,
): Promise<number> {
  const named = targets.flatMap(({ blob }) => blob ?? []);
  let count = await eraseBlobs(engine, named);
  if (targets.length > 0) {
    const erasures = targets.map(({ seq, text }) => ({ line: seq - 1, text }));
    await engine.upkeep.eraseLines(eventsLog(view.id), erasures);
  }
  // The memory of this process may have the text; the log does not any more.
  view.forget();
  const overviews = kind === 'clarification';
  const folds = await view.run((now) => now.segments.renew({ segments, overviews }));
  count += await eraseBlobs(engine, folds);
  // The overview that was just read may have the text, too.
  if (overviews) view.forget();
  return count;
}

async function eraseBlobs(engine: Engine, hashes: readonly string[]): Promise<number> {
  let count = 0;
  for (const hash of new Set(hashes)) {
    if (await engine.hasBlob(toHash(hash))) count += 1;
    // This runs also when the blob is not there: it may be half gone.
    await engine.upkeep.eraseBlob(toHash(hash));
  }
  return count;
}

async function eraseAttached(
  { home, view }: ChatHandle,
  hashes: readonly string[],
  options: Wish & { readonly message: string },
): Promise<{ erased: number; kept: string[] }> {
  const { reason, everywhere, message } = options;
  const kept: string[] = [];
  let erased = 0;
  for (const hash of new Set(hashes)) {
    if (!(await home.engine.hasBlob(toHash(hash)))) continue;
    const isShared = !everywhere && (await hasOtherUse(home, hash, { chat: view.id, message }));
    // The store knows the other users, other chats among them.
    const letGo = [{ kind: 'chats', id: view.id }];
    const isGone = !isShared && (await home.eraseBlob(hash, { reason, everywhere, letGo })).erased;
    if (isGone) erased += 1;
    else kept.push(hash);
  }
  return { erased, kept };
}

/** Returns whether a chat has these bytes as an attachment of another message than this one. */
async function hasOtherUse(
  { engine, upcasters }: ChatsHome,
  hash: string,
  { chat, message }: { readonly chat: string; readonly message: string },
): Promise<boolean> {
  for await (const page of readPages(logLines(engine, chat), upcasters)) {
    for (const { written } of page) {
      if (written === undefined || !isAttachment(written)) continue;
      if (written.payload['hash'] !== hash) continue;
      if (written.payload['message_id'] !== message) return true;
    }
  }
  return false;
}
