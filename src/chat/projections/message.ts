import type { ChatProblem } from '../events/event.ts';
import { MAIN_BRANCH } from '../events/payloads.ts';
import type { AttachmentPart, MessagePart, Text } from './message-part.ts';

export type Attachment = Omit<AttachmentPart, 'seq'>;

/** A message as readers see it. */
export interface ChatMessage {
  readonly id: string;
  /** The event it began with: its place in the chat, and the cursor to read on from. */
  readonly seq: number;
  readonly at: string;
  readonly role: string;
  readonly branch: string;
  /** Empty when it was redacted. */
  readonly content: string;
  /** `streaming`: it was begun and not completed, by a writer at work or one that is gone. */
  readonly state: 'complete' | 'streaming';
  /** How often it was edited. */
  readonly edits: number;
  readonly redacted?: { readonly reason: string; readonly erased: boolean };
  readonly attachments: readonly Attachment[];
  /** Its text was too long for the log, and the blob that has it cannot be found. */
  readonly missing?: true;
  /** Stands for an event that cannot be read, and says why; nobody knows what message it was, or whether it was one. */
  readonly damaged?: string;
}

/** In the place of an event that cannot be read. */
export function toDamaged({ seq, message }: ChatProblem): ChatMessage {
  const unknown = { id: '', at: '', role: '', branch: '', content: '' };
  return { ...unknown, seq, state: 'complete', edits: 0, attachments: [], damaged: message };
}

/** The texts to be joined for what a message says now: an edit wins over all, then its completion. */
export function textsOf(part: MessagePart): readonly Text[] {
  if (part.redacted !== undefined) return [];
  const told = part.edit ?? part.completed;
  return told === undefined ? part.pieces.map(({ text }) => text) : [told.text];
}

/** `content` has been put together from `textsOf`. */
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
    edits: part.edits,
    ...(redacted && { redacted: { reason: redacted.reason, erased: redacted.erased } }),
    attachments: redacted === undefined ? part.attachments.map(toAttachment) : [],
  };
}

export function toAttachment({ id, hash, name, size, mediaType }: AttachmentPart): Attachment {
  return { id, hash, name, size, mediaType };
}
