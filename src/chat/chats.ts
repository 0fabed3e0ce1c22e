import type { ChatEvent, ChatProblem, JsonObject, NewEvent } from './events/event.ts';
import type { Answer, Question } from './events/payloads.ts';
import type { Branch } from './projections/branches.ts';
import type { Clarification } from './projections/clarification.ts';
import type { Attachment, ChatMessage } from './projections/message.ts';
import type { Usage } from './projections/usage.ts';
import type { Projection, Snapshot } from './projection.ts';
import type { Upcaster } from './events/upcast.ts';

/** What is known of a chat without reading it. Times are ISO 8601, UTC. */
export interface ChatInfo {
  readonly id: string;
  readonly title: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly pinned: boolean;
  /** Since when it can only be read. */
  readonly archivedAt?: string;
  readonly events: number;
  /** Of the log, as text. */
  readonly bytes: number;
}

export interface ChatStatus extends ChatInfo {
  readonly messages: number;
  readonly usage: Usage;
  readonly clarification: Clarification;
  readonly branches: readonly Branch[];
  /** How many there are; `problems` says which. */
  readonly problems: number;
}

export interface NewMessage {
  readonly role: string;
  readonly content: string;
  /** Default `main`. */
  readonly branch?: string;
  /** Default: a new one. Letters, digits and `_`, no hyphens. */
  readonly id?: string;
  readonly model?: string;
  readonly usage?: { readonly inputTokens?: number; readonly outputTokens?: number };
}

export interface AppendOptions {
  /** The last event must have this number (0: none yet), else HEAD_MOVED. */
  readonly expectedSeq?: number;
}

/** A message as it is being said. Deltas gather, so that a stream costs few commits. */
export interface MessageStream {
  readonly id: string;
  /** Resolves when the text is durable; need not be awaited. */
  write(text: string): Promise<void>;
  /** The message is what was written, or `content` when that is given. */
  complete(content?: string, more?: Pick<NewMessage, 'model' | 'usage'>): Promise<ChatEvent>;
}

export interface MessageQuery {
  /** Default `main`; a branch begins with what was said before its fork. `*`: all messages. */
  readonly branch?: string;
  /** Only messages before this one: the `seq` of the oldest one of the page before. */
  readonly before?: number;
  /** Default 50, at most 1,000. */
  readonly limit?: number;
}

/** The newest messages that were asked for, in order, with events that cannot be read where they stand. */
export interface MessagePage {
  readonly messages: readonly ChatMessage[];
  /** What is wrong with the chat as a whole, where something is: messages may be missing at its end. */
  readonly damage?: readonly ChatProblem[];
  /** For the page before this one, when there is one. */
  readonly before?: number;
}

export interface EventPage {
  readonly events: readonly ChatEvent[];
  /** Lines that are no events, or none that is understood. */
  readonly problems: readonly ChatProblem[];
  /** Where the next page begins, when there is one. */
  readonly next?: number;
}

export interface RedactOptions {
  readonly reason: string;
  /** Also remove the text from every file of the store; hashes of the lines stay. */
  readonly erase?: boolean;
  /** With `erase`: attachments go also when others use the same bytes. */
  readonly everywhere?: boolean;
}

export interface RedactReport {
  readonly event?: ChatEvent;
  /** Lines that have no text any more. */
  readonly erasedLines: number;
  readonly erasedBlobs: number;
  /** Damaged lines, which nobody can look into. */
  readonly unreadableLines: number;
  /** Attachments whose bytes others use, and which therefore stay. */
  readonly kept: readonly string[];
}

export interface AttachOptions {
  readonly name: string;
  readonly mediaType?: string;
  /** The message it belongs to. */
  readonly message?: string;
}

export interface Projected<S> {
  readonly state: S;
  /** The last event in it. */
  readonly seq: number;
  /** To go on from later. */
  readonly snapshot: Snapshot;
}

/** One chat. Every call sees what was durable when it was made. */
export interface Chat {
  readonly id: string;
  status(): Promise<ChatStatus>;
  update(change: { readonly title?: string; readonly pinned?: boolean }): Promise<ChatInfo>;

  /** Events as they are, all or none. Types of version 1 must have their payload. */
  append(events: NewEvent | readonly NewEvent[], options?: AppendOptions): Promise<ChatEvent[]>;
  add(message: NewMessage, options?: AppendOptions): Promise<ChatMessage>;
  stream(message: Omit<NewMessage, 'content' | 'usage' | 'model'>): Promise<MessageStream>;
  /** Another text for a message; the one before stays in the log. */
  edit(message: string, content: string): Promise<ChatEvent>;
  /** Hides the text of a message from every reader, and with `erase` removes it from the store. */
  redact(message: string, options: RedactOptions): Promise<RedactReport>;
  /** The same for a batch of questions with its answers. One that is open is dismissed by it. */
  redactBatch(batch: string, options: RedactOptions): Promise<RedactReport>;
  /** A branch that goes on after a message. Gives its name. */
  fork(message: string, options?: { readonly branch?: string }): Promise<string>;
  attach(
    source: Uint8Array | AsyncIterable<Uint8Array>,
    options: AttachOptions,
  ): Promise<Attachment>;

  /** Opens a batch of questions. One is open at a time. Gives its id. */
  ask(
    questions: readonly Question[],
    options?: { readonly id?: string; readonly title?: string },
  ): Promise<string>;
  /** Answers every question of the open batch, which closes it. */
  answer(batch: string, answers: readonly Answer[]): Promise<ChatEvent>;
  dismiss(batch: string, reason?: string): Promise<ChatEvent>;

  message(id: string): Promise<ChatMessage | undefined>;
  messages(query?: MessageQuery): Promise<MessagePage>;
  /**
   * Messages of a branch (default: all) that have this text in them, whatever the case, newest first. It reads
   * the chat; `before` goes on where a page had enough.
   */
  search(text: string, options?: MessageQuery): Promise<MessagePage>;
  events(range?: { readonly after?: number; readonly limit?: number }): Promise<EventPage>;
  /** What is there, then live. Ends when the chat is removed or archived. */
  follow(options?: {
    readonly after?: number;
    readonly signal?: AbortSignal;
  }): AsyncIterable<ChatEvent>;
  /** Folds a projection of your own over the events, from a snapshot when one is given. */
  project<S>(projection: Projection<S>, from?: Snapshot): Promise<Projected<S>>;
  /** Everything that was found wrong, and where. */
  problems(): Promise<ChatProblem[]>;

  /** Readable Markdown of a branch, or JSON of the whole chat, in pieces. */
  export(options?: {
    readonly format?: 'markdown' | 'json';
    readonly branch?: string;
  }): AsyncIterable<string>;
  /** Moves the log to compressed blobs; from then on the chat can only be read. */
  archive(): Promise<ChatInfo>;
  unarchive(): Promise<ChatInfo>;
}

export interface NewChat {
  readonly id?: string;
  readonly title?: string;
  readonly pinned?: boolean;
}

export interface ChatList {
  readonly items: readonly ChatInfo[];
  readonly cursor?: string;
}

export interface ChatRetention {
  /** Chats that nothing was appended to for this long. */
  readonly maxAgeMs?: number;
  /** The oldest, until the logs of the others take at most this much. */
  readonly maxBytes?: number;
  /** What happens to them; default `archive`. */
  readonly action?: 'archive' | 'remove';
}

export interface ChatRetainReport {
  readonly action: 'archive' | 'remove';
  /** Archived or removed, or what would be. */
  readonly chats: readonly ChatInfo[];
  readonly kept: number;
  readonly pinned: number;
  /** Those that should go and stay, because lines of them cannot be read. */
  readonly damaged: readonly string[];
  readonly dryRun: boolean;
}

export interface Chats {
  create(options?: NewChat): Promise<ChatInfo>;
  /** NOT_FOUND when there is none. */
  open(id: string): Promise<Chat>;
  /** By id, which for ids that were made here is by age. */
  list(options?: { readonly limit?: number; readonly cursor?: string }): Promise<ChatList>;
  /** Its log and all that was kept of it; the bytes go with the next collection. */
  remove(id: string): Promise<void>;
  /** A chat from what `export` gave as JSON. INVALID, and nothing stored, when it is something else. */
  import(document: JsonObject | string, options?: { readonly id?: string }): Promise<ChatInfo>;
  retain(policy: ChatRetention, options?: { readonly dryRun?: boolean }): Promise<ChatRetainReport>;
  /** The same chats, read with upcasters for older payloads. Files stay as they are. */
  upcasting(upcasters: readonly Upcaster[]): Chats;
}
