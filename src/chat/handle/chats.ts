import type { CustomType } from '../events/documents.ts';
import type { ChatEvent, ChatProblem, JsonObject, NewEvent } from '../events/event.ts';
import type { Answer, Question } from '../events/payloads.ts';
import type { Upcaster } from '../events/read-line.ts';
import type { Clarification } from '../projections/clarification.ts';
import type { Attachment, ChatMessage } from '../projections/message-part.ts';
import type { Branch, Usage } from '../projections/overview.ts';
import type { Projection, Snapshot } from '../projections/projection.ts';

/** The facts about a chat that are known without reading it. Times are ISO 8601, UTC. */
export interface ChatInfo {
  readonly id: string;
  readonly title: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly pinned: boolean;
  /** The time since which the chat can only be read. */
  readonly archivedAt?: string;
  readonly events: number;
  /** The size of the log, as text. */
  readonly bytes: number;
}

export interface ChatStatus extends ChatInfo {
  readonly messages: number;
  readonly usage: Usage;
  readonly clarification: Clarification;
  readonly branches: readonly Branch[];
  /** The number of problems; `problems` lists them. */
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
  /** The last event must have this number (0: none yet), else the call fails with HEAD_MOVED. */
  readonly expectedSeq?: number;
}

/** The facts about a message that are known at its end. */
export interface Completion extends Pick<NewMessage, 'model' | 'usage'> {
  /** True for a message that was ended for a writer that is gone: readers see that its text may be cut short. */
  readonly interrupted?: boolean;
}

/** A message that is being written. Deltas gather, so that a stream makes at most one commit each 20 ms. */
export interface MessageStream {
  readonly id: string;
  /** The text that the message had when the stream was opened; empty unless the stream was resumed. */
  readonly text: string;
  /**
   * Resolves when the stream can take more: at once while less than 256 KiB wait to become durable, else when this text
   * is durable. A failed commit rejects the writes after it, `flush` and `complete`.
   */
  write(text: string): Promise<void>;
  /** Sends what is gathered, and resolves when everything written so far is durable. */
  flush(): Promise<void>;
  /** The message becomes the written text, or `content` when that is given. Everything is durable then. */
  complete(content?: string, more?: Completion): Promise<ChatEvent>;
}

export interface MessageQuery {
  /** Default `main`; a branch begins with the messages before its fork. `*`: all messages. */
  readonly branch?: string;
  /** Only messages, or batches of questions, before this one: the `seq` of the oldest one of the page before. */
  readonly before?: number;
  /** Default 50, at most 1,000. */
  readonly limit?: number;
  /** Longer texts are left out, and `unread` says so. Default: none are. */
  readonly maxContent?: number;
}

/** The newest messages that were asked for, in order. Events that cannot be read stand in their places. */
export interface MessagePage {
  readonly messages: readonly ChatMessage[];
  /** Problems of the chat as a whole, if there are any: messages may be missing at its end. */
  readonly damage?: readonly ChatProblem[];
  /** The cursor for the page before this one, when there is one. */
  readonly before?: number;
}

/** A question, and the answer to it once there is one. */
export interface AnsweredQuestion extends Question {
  readonly answer?: Answer['value'];
}

/** A batch of questions with what became of it. */
export interface ClarificationBatch {
  readonly batch_id: string;
  /** The event that opened the batch: its place among the messages. */
  readonly seq: number;
  readonly at: string;
  readonly title?: string;
  /** Empty when the batch was redacted. */
  readonly questions: readonly AnsweredQuestion[];
  /** `replaced`: another batch was opened over this one. */
  readonly state: 'open' | 'answered' | 'dismissed' | 'replaced';
  readonly closedAt?: string;
  /** Why the batch was dismissed or redacted. */
  readonly reason?: string;
  readonly redacted?: true;
}

export type ClarificationQuery = Pick<MessageQuery, 'before' | 'limit'>;

/** The newest batches that were asked for, in order. */
export interface ClarificationPage {
  readonly batches: readonly ClarificationBatch[];
  /** The cursor for the page before this one, when there is one. */
  readonly before?: number;
}

export interface EventPage {
  readonly events: readonly ChatEvent[];
  /** Lines that are not events, or events that are not understood. */
  readonly problems: readonly ChatProblem[];
  /** The beginning of the next page, when there is one. */
  readonly next?: number;
}

export interface RedactOptions {
  readonly reason: string;
  /** Also remove the text from every file of the store; hashes of the lines stay. */
  readonly erase?: boolean;
  /** With `erase`: attachments are erased also when others use the same bytes. */
  readonly everywhere?: boolean;
}

export interface RedactReport {
  readonly event?: ChatEvent;
  /** The number of lines that have no text any more. */
  readonly erasedLines: number;
  readonly erasedBlobs: number;
  /** The number of damaged lines, which nobody can look into. */
  readonly unreadableLines: number;
  /** Attachments whose bytes others use, and which therefore stay. */
  readonly kept: readonly string[];
}

export interface AttachOptions {
  readonly name: string;
  /** Default: by the ending of the name, such as `image/png` for `shot.png`. */
  readonly mediaType?: string;
  /** The message that the attachment belongs to. */
  readonly message?: string;
  /** True for a file that the agent made, such as a report. The event is `artifact_added` then. */
  readonly artifact?: boolean;
  /** Of an artifact: the tool call that made it. */
  readonly call?: string;
}

/** A call of a tool. */
export interface NewToolCall {
  readonly name: string;
  /** Any JSON value. */
  readonly arguments?: unknown;
  /** The message in which the model asked for the call. */
  readonly message?: string;
  /** The id that the model gave the call. Default: a new one. */
  readonly id?: string;
}

/** The outcome of a tool call: a result, which is any JSON value, or an error. */
export type ToolResult = ({ readonly result: unknown } | { readonly error: string }) & {
  /** The message that the result belongs to. A redaction of the message hides the result, too. */
  readonly message?: string;
};

export interface Projected<S> {
  readonly state: S;
  /** The last event in the state. */
  readonly seq: number;
  /** The snapshot to go on from later. */
  readonly snapshot: Snapshot;
}

/** One chat. Every call sees everything that was durable when the call was made. */
export interface ForkOptions {
  /** The name of the branch. Default: a new one. */
  readonly branch?: string;
  /** True for a branch without the message itself, in which another one can take its place. */
  readonly before?: boolean;
}

export interface Chat {
  readonly id: string;
  status(): Promise<ChatStatus>;
  update(change: { readonly title?: string; readonly pinned?: boolean }): Promise<ChatInfo>;

  /** Appends events as they are, all or none. Types of version 1 must have their payload. */
  append(events: NewEvent | readonly NewEvent[], options?: AppendOptions): Promise<ChatEvent[]>;
  add(message: NewMessage, options?: AppendOptions): Promise<ChatMessage>;
  stream(message: Omit<NewMessage, 'content' | 'usage' | 'model'>): Promise<MessageStream>;
  /**
   * Continues a message that was begun and not completed, such as one whose writer has crashed. While the other writer
   * is alive, the one that writes second fails with HEAD_MOVED.
   */
  resume(message: string): Promise<MessageStream>;
  /** Ends such a message with the text that it has, or with `content`. */
  complete(message: string, content?: string, more?: Completion): Promise<ChatEvent>;
  /** Gives a message another text; the text before stays in the log. */
  edit(message: string, content: string): Promise<ChatEvent>;
  /** Hides the text of a message from every reader, and with `erase` removes it from the store. */
  redact(message: string, options: RedactOptions): Promise<RedactReport>;
  /** Like `redact`, for a batch of questions with its answers. A batch that is open is dismissed by it. */
  redactBatch(batch: string, options: RedactOptions): Promise<RedactReport>;
  /** Makes a branch that goes on after a message, or from where the message stands. Returns its name. */
  fork(message: string, options?: ForkOptions): Promise<string>;
  attach(
    source: Uint8Array | AsyncIterable<Uint8Array>,
    options: AttachOptions,
  ): Promise<Attachment>;

  /** Notes that a tool is called (`tool_called`). Returns the id of the call. */
  callTool(call: NewToolCall): Promise<string>;
  /** Notes what the tool returned (`tool_returned`). */
  returnTool(call: string, result: ToolResult): Promise<ChatEvent>;

  /** Opens a batch of questions. One is open at a time. Returns its id. */
  ask(
    questions: readonly Question[],
    options?: { readonly id?: string; readonly title?: string },
  ): Promise<string>;
  /** Answers every question of the open batch, which closes it. */
  answer(batch: string, answers: readonly Answer[]): Promise<ChatEvent>;
  dismiss(batch: string, reason?: string): Promise<ChatEvent>;

  /** Returns batches of questions with their answers, open and closed. */
  clarifications(query?: ClarificationQuery): Promise<ClarificationPage>;

  message(id: string): Promise<ChatMessage | undefined>;
  messages(query?: MessageQuery): Promise<MessagePage>;
  /**
   * Returns messages of a branch (default: all) that contain this text, whatever the case, newest first. The search
   * reads the chat; `before` goes on where a page had enough.
   */
  search(text: string, options?: MessageQuery): Promise<MessagePage>;
  events(range?: { readonly after?: number; readonly limit?: number }): Promise<EventPage>;
  /** Yields existing events, then new ones live. Ends when the chat is removed or archived. */
  follow(options?: {
    readonly after?: number;
    readonly signal?: AbortSignal;
    /** Payloads of more bytes than this come as references, as `events` gives them. Default: none do. */
    readonly maxPayload?: number;
  }): AsyncIterable<ChatEvent>;
  /** Folds a projection of your own over the events, from a snapshot when one is given. */
  project<S>(projection: Projection<S>, from?: Snapshot): Promise<Projected<S>>;
  /** Returns every problem that was found, and its place. */
  problems(): Promise<ChatProblem[]>;

  /** Exports a branch as readable Markdown, or the whole chat as JSON, in pieces. */
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
  /** Selects chats to which nothing was appended for this long. */
  readonly maxAgeMs?: number;
  /** Selects the oldest chats, until the logs of the others take at most this much. */
  readonly maxBytes?: number;
  /** The action on selected chats; default `archive`. */
  readonly action?: 'archive' | 'remove';
}

export interface ChatRetainReport {
  readonly action: 'archive' | 'remove';
  /** The chats that were archived or removed, or would be. */
  readonly chats: readonly ChatInfo[];
  readonly kept: number;
  readonly pinned: number;
  /** Selected chats that stay, because some of their lines cannot be read. */
  readonly damaged: readonly string[];
  readonly dryRun: boolean;
}

export interface Chats {
  create(options?: NewChat): Promise<ChatInfo>;
  /** Throws NOT_FOUND when there is no such chat. */
  open(id: string): Promise<Chat>;
  /** Sorted by id, which for ids that were made here is by age. */
  list(options?: { readonly limit?: number; readonly cursor?: string }): Promise<ChatList>;
  /** Removes the log of a chat and all that was kept of it. The bytes go with the next garbage collection. */
  remove(id: string): Promise<void>;
  /** Creates a chat from the JSON that `export` gave. Throws INVALID, and stores nothing, when it is something else. */
  import(document: JsonObject | string, options?: { readonly id?: string }): Promise<ChatInfo>;
  retain(policy: ChatRetention, options?: { readonly dryRun?: boolean }): Promise<ChatRetainReport>;
  /** Makes a type of events known to all readers of the store, so that it is no problem of a chat any more. */
  registerType(type: string, options?: { readonly about?: string }): Promise<CustomType>;
  /** Takes a registered type off the list. Its events stay. */
  forgetType(type: string): Promise<void>;
  /** Lists the registered types. */
  types(): Promise<readonly CustomType[]>;
  /** Returns the same chats, read with upcasters for older payloads. Files stay as they are. */
  upcasting(upcasters: readonly Upcaster[]): Chats;
}
