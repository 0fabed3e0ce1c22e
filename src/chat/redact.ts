import { toHash } from '../base/brand.ts';
import { checkBounded, kindOf } from '../base/check-text.ts';
import { invalid } from '../base/errors.ts';
import { hashBytes } from '../base/hash.ts';
import { encodeUtf8 } from '../base/utf8.ts';
import { eraseArchives } from './archive.ts';
import { blankLine } from './blank-line.ts';
import type { ChatHandle } from './chat-handle.ts';
import { logLines } from './chat-lines.ts';
import { assertWritable } from './chat-writer.ts';
import { mustFind } from './check-message.ts';
import type { Chat, RedactOptions, RedactReport } from './chats.ts';
import type { ChatEvent } from './event.ts';
import { attachmentUsers } from './find-users.ts';
import { REASON_BYTES_MAX } from './limits.ts';
import { checkId, eventsLog } from './names.ts';
import { segmentOf } from './segments/segment-line.ts';

// Redaction is an event: it hides the text of a message from every reader, and a message that was hidden
// stays so. Erasing goes on from there: the lines are overwritten without their text, the folds that had
// it are made again, and then the blobs go. Interrupted anywhere, it can be done again.

const PAGE_LINES = 1024;
/** Deltas may come in while a message is erased; whoever streams on and on is asked to stop. */
const ROUNDS_MAX = 5;

interface Target {
  readonly seq: number;
  readonly text: string;
  /** BLAKE3 of the line as it was. */
  readonly hash: string;
  readonly blob?: string;
}

interface Found {
  readonly targets: readonly Target[];
  readonly unreadable: number;
}

export function redactVerb(handle: ChatHandle): Pick<Chat, 'redact'> {
  const { view, writer, assertOpen } = handle;
  return {
    async redact(message: string, options: RedactOptions): Promise<RedactReport> {
      assertOpen('chat.redact');
      const id = checkId(message, 'message');
      const { erase = false, everywhere = false } = options;
      const reason = checkBounded(options.reason, 'reason', REASON_BYTES_MAX);
      for (const [name, value] of Object.entries({ erase, everywhere })) {
        if (typeof value !== 'boolean') throw invalid(name, `is a boolean, got ${kindOf(value)}`);
      }
      await view.run((now) => assertWritable(now));
      if (erase) return eraseMessage(handle, id, { reason, everywhere });
      const [event] = await writer.decide(async (now) => {
        const { redacted } = await mustFind(now, id);
        if (redacted !== undefined) return [];
        return [{ type: 'message_redacted', payload: { message_id: id, reason } }];
      });
      const none = { erasedLines: 0, erasedBlobs: 0, unreadableLines: 0, kept: [] };
      return { ...(event && { event }), ...none };
    },
  };
}

async function eraseMessage(
  handle: ChatHandle,
  id: string,
  options: { readonly reason: string; readonly everywhere: boolean },
): Promise<RedactReport> {
  const { view, world } = handle;
  const attached = await view.run(async (now) => (await mustFind(now, id)).attachments);
  const blobs = new Set<string>();
  const first = await hide(handle, id, options.reason);
  let erasedLines = 0;
  let { targets } = first.found;
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    erasedLines += targets.length;
    for (const hash of await eraseTargets(handle, targets)) blobs.add(hash);
    ({ targets } = await findTargets(handle, id));
    if (targets.length === 0) break;
    if (round === ROUNDS_MAX - 1)
      throw invalid('message', `${id} is being written; stop that first`);
  }
  for (const hash of blobs) await world.engine.upkeep.eraseBlob(toHash(hash));
  const archived = await eraseArchives(handle);
  const { erased, kept } = await eraseAttached(
    handle,
    attached.map(({ hash }) => hash),
    {
      ...options,
      message: id,
    },
  );
  return {
    ...(first.event && { event: first.event }),
    erasedLines,
    erasedBlobs: blobs.size + archived + erased,
    unreadableLines: first.found.unreadable,
    kept,
  };
}

/** The event first: from here on nobody is shown the text, whatever happens to the rest. */
async function hide(
  { writer, ...handle }: ChatHandle,
  id: string,
  reason: string,
): Promise<{ found: Found; event?: ChatEvent }> {
  let found: Found = { targets: [], unreadable: 0 };
  const [event] = await writer.decide(async (now) => {
    const { redacted } = await mustFind(now, id);
    found = await findTargets({ ...handle, writer }, id);
    if (redacted?.erased === true) return [];
    const lines = found.targets.map(({ seq, hash }) => ({ seq, hash }));
    const payload = { message_id: id, reason, erased: true, lines };
    return [{ type: 'message_redacted', payload }];
  });
  return { found, ...(event && { event }) };
}

/** Every line of the log that says something of the message. */
async function findTargets({ world, view }: ChatHandle, id: string): Promise<Found> {
  const lines = logLines(world.engine, view.id);
  const targets: Target[] = [];
  let unreadable = 0;
  for (let from = 0; ; from += PAGE_LINES) {
    const page = await lines.read(from, PAGE_LINES);
    for (const [at, line] of page.entries()) {
      if (typeof line !== 'string') {
        unreadable += 1;
        continue;
      }
      // Most lines are about others, and need not be parsed.
      const blanked = line.includes(id) ? blankLine(line, id) : undefined;
      if (blanked === undefined) continue;
      const { text, ref } = blanked;
      const hash = hashBytes(encodeUtf8(line));
      targets.push({ seq: from + at + 1, text, hash, ...(ref && { blob: ref.hash }) });
    }
    if (page.length < PAGE_LINES) return { targets, unreadable };
  }
}

/** Gives the blobs that had the texts of these lines, or folds of them. */
async function eraseTargets(
  { world, view }: ChatHandle,
  targets: readonly Target[],
): Promise<string[]> {
  const erasures = targets.map(({ seq, text }) => ({ line: seq - 1, text }));
  if (erasures.length > 0) {
    await world.engine.upkeep.eraseLines(eventsLog(view.id), erasures);
  }
  // What this process remembers may have the text; the log does not any more.
  view.forget();
  const segments = new Set(targets.map(({ seq }) => segmentOf(seq)));
  const folds = await view.run((now) => now.segments.renew(segments));
  return [...folds, ...targets.flatMap(({ blob }) => (blob === undefined ? [] : [blob]))];
}

async function eraseAttached(
  { world, view }: ChatHandle,
  hashes: readonly string[],
  options: { readonly reason: string; readonly everywhere: boolean; readonly message: string },
): Promise<{ erased: number; kept: string[] }> {
  const { reason, everywhere, message } = options;
  const kept: string[] = [];
  let erased = 0;
  for (const hash of new Set(hashes)) {
    if (!(await world.engine.hasBlob(toHash(hash)))) continue;
    const isShared =
      !everywhere && (await attachmentUsers(world, hash, { chat: view.id, message }));
    const isGone = !isShared && (await world.eraseBlob(hash, { reason, everywhere })).erased;
    if (isGone) erased += 1;
    else kept.push(hash);
  }
  return { erased, kept };
}
