import { toHash } from '../../base/brand.ts';
import { corrupt, invalid, isQuipuError } from '../../base/errors.ts';
import { groupsOf } from '../../base/pages.ts';
import { shown } from '../../base/text.ts';
import type { DocChange, LogChange } from '../../engine/batch.ts';
import { readPieceList, toBlob, type ArchivePiece, type Line } from '../events/chat-lines.ts';
import { type Held, metaChange, type ChatMeta } from '../events/documents.ts';
import { HELD_FOLDER, eventsLog, newId } from '../events/names.ts';
import type { ChatView } from '../handle/chat-view.ts';
import { assertWritable, type ChatHandle, type ChatsHome } from '../handle/chat-writer.ts';
import type { Chat, ChatInfo, ChatRetainReport, ChatRetention } from '../handle/chats.ts';
import { readInfo, toInfo, walkChatIds } from '../handle/info.ts';

// An archived chat has its log in blobs, which the store compresses, and no log. It reads as before. In both directions
// one commit makes the change. Until then the old form counts, and a crash leaves at most blobs for the next garbage
// collection, or lines that the next attempt removes.

const PIECE_LINES = 4096;
/** The size limit of a piece that has more than one line. */
const PIECE_BYTES = 8_388_608;

export function archiveVerbs(handle: ChatHandle): Pick<Chat, 'archive' | 'unarchive'> {
  const { view, home } = handle;
  return {
    archive: async () => view.run((now) => archive(home, now)),
    unarchive: async () => view.run((now) => unarchive(home, now)),
  };
}

async function archive({ engine, clock }: ChatsHome, view: ChatView): Promise<ChatInfo> {
  assertWritable(view);
  const { events, bytes, stored } = view;
  if (events === 0) throw invalid('chat', `${view.id} is empty: there is nothing to archive`);
  const at = new Date(clock()).toISOString();
  const held: DocChange[] = [];
  const pieces: ArchivePiece[] = [];
  for await (const lines of readPieces(view)) {
    const blob = toBlob(lines.join('\n'));
    pieces.push({ hash: blob.hash, lines: lines.length });
    const name = `${HELD_FOLDER}${newId(clock())}.json`;
    const holding: Held = { at, hashes: [blob.hash] };
    await engine.commit({ blobs: [blob], docs: [{ name, content: JSON.stringify(holding) }] });
    held.push({ name, content: undefined });
  }
  const list = toBlob(JSON.stringify(pieces));
  const meta: ChatMeta = {
    ...stored.meta,
    archived_at: at,
    archive: { hash: list.hash, lines: events, bytes },
  };
  const name = eventsLog(view.id);
  const isSame: LogChange = { do: 'append', name, lines: [], expectedLines: events };
  await engine.commit({
    blobs: [list],
    logs: [isSame, { do: 'remove', name }],
    docs: [metaChange(meta, stored.version), ...held],
  });
  return toInfo(meta, { events, bytes });
}

async function unarchive({ engine }: ChatsHome, view: ChatView): Promise<ChatInfo> {
  const { stored } = view;
  const { archive: from, archived_at: _, past_archives: past = [], ...rest } = stored.meta;
  if (from === undefined) throw invalid('chat', `${view.id} is not archived`);
  const name = eventsLog(view.id);
  // An earlier attempt may have left lines.
  await engine.commit({ logs: [{ do: 'remove', name }] });
  let expectedLines = 0;
  for await (const lines of readPieces(view)) {
    await engine.commit({ logs: [{ do: 'append', name, lines, expectedLines }] });
    expectedLines += lines.length;
  }
  // Each blob is named by itself: the list may be collected before the pieces are.
  const pieces = await readPieceList(engine, from.hash);
  const left = [from.hash, ...pieces.map(({ hash }) => hash)];
  const meta: ChatMeta = { ...rest, past_archives: [...past, ...left] };
  await engine.commit({ docs: [metaChange(meta, stored.version)] });
  return toInfo(meta, { events: from.lines, bytes: from.bytes });
}

/** Erases archives that the chat came back from: they contain every text that is erased from its log. */
export async function eraseArchives({ view, home: { engine } }: ChatHandle): Promise<number> {
  const { meta, version } = await view.run(({ stored }) => stored);
  const { past_archives: past = [], ...rest } = meta;
  if (past.length === 0) return 0;
  for (const hash of past) await engine.upkeep.eraseBlob(toHash(hash));
  await engine.commit({ docs: [metaChange(rest, version)] });
  return past.length;
}

/** Yields all lines, in groups of a size that one commit takes. */
async function* readPieces(view: ChatView): AsyncGenerator<string[], void, undefined> {
  for (let from = 0; from < view.events; from += PIECE_LINES) {
    const limit = Math.min(PIECE_LINES, view.events - from);
    const lines = (await view.readRaw(from, limit)).map(mustBeText);
    yield* groupsOf(lines, PIECE_BYTES, ({ length }) => length);
  }
}

/** A line that cannot be read cannot be moved, and stays where it is. */
function mustBeText(line: Line): string {
  if (typeof line === 'string') return line;
  throw corrupt('chats', `line ${line.seq} cannot be moved: ${line.message}`);
}

interface Retaining {
  readonly policy: ChatRetention;
  readonly dryRun: boolean;
  readonly archive: (id: string) => Promise<void>;
  readonly remove: (id: string) => Promise<void>;
}

/** Archives or removes the chats that the policy does not keep, one after the other. */
export async function retainChats(
  { engine, clock }: ChatsHome,
  retaining: Retaining,
): Promise<ChatRetainReport> {
  const { policy, dryRun } = retaining;
  const { action } = checkPolicy(policy);
  const chats: ChatInfo[] = [];
  for await (const id of walkChatIds(engine)) {
    const info = await readInfo(engine, id);
    if (info !== undefined) chats.push(info);
  }
  const { go, stay } = planRetention(chats, policy, clock());
  const done: ChatInfo[] = [];
  const damaged: string[] = [];
  for (const chat of go) {
    const outcome = dryRun || (await letGo(engine, chat, retaining[action]));
    if (outcome === 'damaged') damaged.push(chat.id);
    else if (outcome) done.push(chat);
  }
  const pinned = stay.filter((chat) => chat.pinned).length;
  return { action, chats: done, kept: chats.length - done.length, pinned, damaged, dryRun };
}

/** Returns false when the chat is in use again, or gone already. A damaged chat does not stop the others. */
async function letGo(
  engine: ChatsHome['engine'],
  chat: ChatInfo,
  act: (id: string) => Promise<void>,
): Promise<boolean | 'damaged'> {
  const now = await readInfo(engine, chat.id);
  if (now?.events !== chat.events || now.pinned) return false;
  try {
    await act(chat.id);
    return true;
  } catch (error) {
    if (isQuipuError(error, 'NOT_FOUND') || isQuipuError(error, 'HEAD_MOVED')) return false;
    if (isQuipuError(error, 'CORRUPT')) return 'damaged';
    throw error;
  }
}

function checkPolicy(policy: ChatRetention): { action: 'archive' | 'remove' } {
  const { maxAgeMs, maxBytes, action = 'archive' } = policy;
  for (const [what, value] of Object.entries({ maxAgeMs, maxBytes })) {
    if (value === undefined || (typeof value === 'number' && value >= 0)) continue;
    throw invalid(what, `must be a number from 0, got ${shown(value)}`);
  }
  if (maxAgeMs === undefined && maxBytes === undefined) {
    throw invalid('policy', 'needs maxAgeMs or maxBytes; without them nothing would ever go');
  }
  if (action !== 'archive' && action !== 'remove') {
    throw invalid('action', `must be "archive" or "remove", got ${shown(action)}`);
  }
  return { action };
}

interface RetentionPlan {
  readonly go: readonly ChatInfo[];
  readonly stay: readonly ChatInfo[];
}

/** Decides which chats go and touches none. */
function planRetention(
  chats: readonly ChatInfo[],
  { maxAgeMs = Infinity, maxBytes = Infinity, action = 'archive' }: ChatRetention,
  nowMs: number,
): RetentionPlan {
  const go: ChatInfo[] = [];
  const stay: ChatInfo[] = [];
  let bytes = 0;
  let isFull = false;
  for (const chat of chats.toSorted(byClaim)) {
    // An archived chat takes no room as a log, and cannot be archived again.
    const isDone = action === 'archive' && (chat.archivedAt !== undefined || chat.events === 0);
    if (chat.pinned || isDone) {
      stay.push(chat);
      bytes += isDone ? 0 : chat.bytes;
      continue;
    }
    const isOld = nowMs - Date.parse(chat.updatedAt) > maxAgeMs;
    // Once a chat did not fit, all older ones go too: a gap in the history would surprise.
    isFull ||= !isOld && bytes + chat.bytes > maxBytes;
    if (isOld || isFull) {
      go.push(chat);
      continue;
    }
    stay.push(chat);
    bytes += chat.bytes;
  }
  return { go, stay };
}

/** Sorts pinned chats first, then by age, newest first: the order in which chats may claim to stay. */
function byClaim(a: ChatInfo, b: ChatInfo): number {
  if (a.pinned !== b.pinned) return a.pinned ? -1 : 1;
  return Date.parse(b.updatedAt) - Date.parse(a.updatedAt) || (a.id < b.id ? 1 : -1);
}
