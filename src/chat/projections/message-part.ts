import type { ChatEvent, ChatProblem, JsonObject, PayloadRef } from '../events/event.ts';
import { MAIN_BRANCH, refOf } from '../events/payloads.ts';
import type { Projection } from './projection.ts';

// The content of some events in a row about one message. Parts of neighbouring stretches of the log merge into the part
// of both, in whatever groups: merge(part(a), part(b)) is part(a then b). So a stretch can be folded once and kept, and
// the last messages are known without reading the first ones.

/** A text, or the blob with the payload that contains it. */
export type Text = string | PayloadRef;

export interface Piece {
  readonly kind: 'added' | 'delta';
  readonly text: Text;
}

export interface Told {
  readonly seq: number;
  readonly at: string;
  readonly text: Text;
  /** Of a completion: the message was ended for a writer that was gone. */
  readonly interrupted?: true;
}

export interface AttachmentPart {
  readonly id: string;
  readonly seq: number;
  readonly hash: string;
  readonly name: string;
  readonly size: number;
  readonly mediaType: string;
  /** The agent made the file. */
  readonly artifact?: true;
}

export interface MessagePart {
  readonly id: string;
  /** The first event that made the message; 0 when these events only change it. This is its place in the chat. */
  readonly first: number;
  readonly at: string;
  readonly role: string;
  /** Empty: the main branch. */
  readonly thread: string;
  readonly added: boolean;
  /** The beginning text and the streamed texts, until the message was completed. */
  readonly pieces: readonly Piece[];
  readonly deltas: number;
  readonly completed?: Told;
  readonly edit?: Told;
  readonly edits: number;
  readonly redacted?: { readonly seq: number; readonly reason: string; readonly erased: boolean };
  readonly attachments: readonly AttachmentPart[];
  /** Changes from before the message began: they mean nothing, unless it began even earlier. */
  readonly early?: MessagePart;
  /** The number of events that came too late to mean anything: a second beginning, a delta after the end. */
  readonly late: number;
}

const EMPTY = {
  first: 0,
  at: '',
  role: '',
  thread: '',
  added: false,
  pieces: [],
  deltas: 0,
  edits: 0,
  attachments: [],
  late: 0,
} as const;

/** Returns the content of one event about a message; undefined when the event is about no message. */
export function partOf(event: ChatEvent): MessagePart | undefined {
  const { type, payload, seq, at } = event;
  const id = textOf(payload, 'message_id');
  if (id === '') return undefined;
  const begun = {
    ...EMPTY,
    id,
    first: seq,
    at,
    role: textOf(payload, 'role'),
    thread: textOf(payload, 'thread_id'),
  };
  switch (type) {
    case 'message_added':
      return { ...begun, added: true, pieces: [piece('added', payload, 'content')] };
    case 'message_stream_delta':
      return { ...begun, deltas: 1, pieces: [piece('delta', payload, 'delta')] };
    case 'message_completed':
      return { ...begun, completed: told(event) };
    case 'message_edited':
      return { ...EMPTY, id, edit: told(event), edits: 1 };
    case 'message_redacted': {
      const reason = textOf(payload, 'reason');
      return { ...EMPTY, id, redacted: { seq, reason, erased: payload['erased'] === true } };
    }
    case 'attachment_added':
    case 'artifact_added':
      return { ...EMPTY, id, attachments: [attachmentOf(event)] };
    default:
      return undefined;
  }
}

export function attachmentOf({ type, payload, seq }: ChatEvent): AttachmentPart {
  const size = payload['size'];
  const isArtifact = type === 'artifact_added';
  return {
    id: textOf(payload, isArtifact ? 'artifact_id' : 'attachment_id'),
    seq,
    hash: textOf(payload, 'hash'),
    name: textOf(payload, 'name'),
    size: typeof size === 'number' ? size : 0,
    mediaType: textOf(payload, 'media_type'),
    ...(isArtifact && { artifact: true }),
  };
}

/** Returns the part of the events of `a` and then those of `b`, both about the same message. */
export function mergeParts(a: MessagePart, b: MessagePart): MessagePart {
  const { early, ...own } = b;
  if (a.first === 0 && b.first > 0) {
    const before = early === undefined ? a : mergeOn(a, early);
    return { ...own, early: own.redacted === undefined ? before : withoutTexts(before) };
  }
  return early === undefined ? mergeOn(a, b) : mergeOn(mergeOn(a, early), own);
}

/** `b` has nothing that only counts when the message began before. */
function mergeOn(a: MessagePart, b: MessagePart): MessagePart {
  const begun = a.first > 0 ? a : b;
  const base = mergeBase(a, b);
  const completed = b.completed ?? a.completed;
  const edit = b.edit ?? a.edit;
  const merged: MessagePart = {
    id: a.id,
    first: begun.first,
    at: begun.at,
    role: a.role === '' ? b.role : a.role,
    thread: begun.thread,
    ...base,
    ...(completed !== undefined && { completed }),
    ...(edit !== undefined && { edit }),
    edits: a.edits + b.edits,
    ...mergeRedacted(a, b),
    attachments: [...a.attachments, ...b.attachments],
    ...(a.early !== undefined && { early: a.early }),
  };
  return merged.redacted === undefined ? merged : withoutTexts(merged);
}

/** After a redaction no part keeps any text of the message, wherever it stands. */
function withoutTexts(part: MessagePart): MessagePart {
  const { completed, edit, early } = part;
  return {
    ...part,
    ...(early !== undefined && { early: withoutTexts(early) }),
    pieces: [],
    ...(completed !== undefined && { completed: { ...completed, text: '' } }),
    ...(edit !== undefined && { edit: { ...edit, text: '' } }),
    attachments: part.attachments.map((attachment) => ({ ...attachment, name: '' })),
  };
}

function mergeBase(
  a: MessagePart,
  b: MessagePart,
): Pick<MessagePart, 'added' | 'pieces' | 'deltas' | 'late'> {
  const late = a.late + b.late;
  if (a.completed !== undefined) {
    const { added, pieces, deltas } = a;
    return { added, pieces, deltas, late: late + b.deltas + (b.added ? 1 : 0) };
  }
  const repeats = a.added && b.added;
  const taken = repeats ? withoutBeginning(b.pieces) : b.pieces;
  return {
    added: a.added || b.added,
    pieces: joinPieces(a.pieces, taken),
    deltas: a.deltas + b.deltas,
    late: late + (repeats ? 1 : 0),
  };
}

function mergeRedacted(a: MessagePart, b: MessagePart): Pick<MessagePart, 'redacted'> {
  const first = a.redacted ?? b.redacted;
  if (first === undefined) return {};
  const erased = first.erased || b.redacted?.erased === true;
  return { redacted: { ...first, erased } };
}

/** The texts streamed before and after a second beginning are then neighbours. */
function withoutBeginning(pieces: readonly Piece[]): readonly Piece[] {
  const at = pieces.findIndex(({ kind }) => kind === 'added');
  return at === -1 ? pieces : joinPieces(pieces.slice(0, at), pieces.slice(at + 1));
}

/** Joins neighbouring deltas into one, so that a long stream does not cost an object per delta. */
function joinPieces(a: readonly Piece[], b: readonly Piece[]): readonly Piece[] {
  const last = a.at(-1);
  const [first, ...rest] = b;
  if (first === undefined) return a;
  if (
    last?.kind === 'delta' &&
    first.kind === 'delta' &&
    typeof last.text === 'string' &&
    typeof first.text === 'string'
  ) {
    return [...a.slice(0, -1), { kind: 'delta', text: last.text + first.text }, ...rest];
  }
  return [...a, ...b];
}

function piece(kind: Piece['kind'], payload: JsonObject, name: string): Piece {
  return { kind, text: refOf(payload) ?? textOf(payload, name) };
}

function told({ seq, at, payload }: ChatEvent): Told {
  const text = refOf(payload) ?? textOf(payload, 'content');
  return { seq, at, text, ...(payload['interrupted'] === true && { interrupted: true }) };
}

function textOf(payload: JsonObject, name: string): string {
  const value = payload[name];
  return typeof value === 'string' ? value : '';
}

/** Every message that some events are about, by its id. */
export type MessageParts = Map<string, MessagePart>;

/** All messages of a chat. Large chats are read in pages instead, from folds of parts of the log. */
export const messagesProjection: Projection<MessageParts> = {
  name: 'messages',
  version: 1,
  initial: () => new Map(),
  apply(state, event) {
    const part = partOf(event);
    if (part !== undefined) addPart(state, part);
    return state;
  },
  freeze: (state) => [...state.values()],
  thaw: (frozen) => toParts(frozen as readonly MessagePart[]),
};

export function addPart(parts: MessageParts, part: MessagePart): void {
  const known = parts.get(part.id);
  parts.set(part.id, known === undefined ? part : mergeParts(known, part));
}

export function toParts(list: Iterable<MessagePart>): MessageParts {
  const parts: MessageParts = new Map();
  for (const part of list) parts.set(part.id, part);
  return parts;
}

/** Returns the messages that really began, in the order they were begun. */
export function inOrder(parts: MessageParts): MessagePart[] {
  return [...parts.values()].filter(({ first }) => first > 0).toSorted(byPlace);
}

export function byPlace(a: MessagePart, b: MessagePart): number {
  return a.first - b.first;
}

export type Attachment = Omit<AttachmentPart, 'seq'>;

/** A message as readers see it. */
export interface ChatMessage {
  readonly id: string;
  /** The event with which the message began: its place in the chat, and the cursor to read on from. */
  readonly seq: number;
  readonly at: string;
  readonly role: string;
  readonly branch: string;
  /** Empty when the message was redacted. */
  readonly content: string;
  /** `streaming`: the message was begun and not completed, by a writer at work or one that is gone. */
  readonly state: 'complete' | 'streaming';
  /** The message was ended for a writer that was gone, so the text may be cut short. */
  readonly interrupted?: true;
  /** The number of edits. */
  readonly edits: number;
  readonly redacted?: { readonly reason: string; readonly erased: boolean };
  readonly attachments: readonly Attachment[];
  /** The text was left out because it has more bytes than were asked for: about so many. */
  readonly unread?: number;
  /** The text was too long for the log, and its blob cannot be found. */
  readonly missing?: true;
  /**
   * This entry stands for an event that cannot be read, with the reason. Nobody knows which message it was, or whether
   * it was one.
   */
  readonly damaged?: string;
}

/** Makes an entry in the place of an event that cannot be read. */
export function toDamaged({ seq, message }: ChatProblem): ChatMessage {
  const unknown = { id: '', at: '', role: '', branch: '', content: '' };
  return { ...unknown, seq, state: 'complete', edits: 0, attachments: [], damaged: message };
}

/** Returns the texts to join for the current content of a message: an edit wins over all, then its completion. */
export function textsOf(part: MessagePart): readonly Text[] {
  if (part.redacted !== undefined) return [];
  const told = part.edit ?? part.completed;
  return told === undefined ? part.pieces.map(({ text }) => text) : [told.text];
}

/** `content` is the joined result of `textsOf`. */
export function toMessage(part: MessagePart, content: string): ChatMessage {
  const { redacted } = part;
  return {
    id: part.id,
    seq: part.first,
    at: part.at,
    role: part.role,
    branch: part.thread === '' ? MAIN_BRANCH : part.thread,
    content,
    state: part.deltas > 0 && part.completed === undefined ? 'streaming' : 'complete',
    ...(part.completed?.interrupted === true && { interrupted: true }),
    edits: part.edits,
    ...(redacted && { redacted: { reason: redacted.reason, erased: redacted.erased } }),
    attachments: redacted === undefined ? part.attachments.map(toAttachment) : [],
  };
}

export function toAttachment(part: AttachmentPart): Attachment {
  const { id, hash, name, size, mediaType, artifact } = part;
  return { id, hash, name, size, mediaType, ...(artifact === true && { artifact }) };
}
