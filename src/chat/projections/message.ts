import type { ChatProblem } from '../events/event.ts';
import { MAIN_BRANCH } from '../events/payloads.ts';
import type { AttachmentPart, MessagePart, Text } from './message-part.ts';

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
