import { randomBytes } from 'node:crypto';
import { NO_TURN, type TurnId } from '../../base/brand.ts';
import { invalid, notFound, orNothing } from '../../base/errors.ts';
import type { Context } from '../../context/context.ts';
import type { AppendOptions, Contexts, OpenTurn } from '../../context/contexts.ts';
import type { Store } from '../../store/store.ts';
import {
  contextsUnder,
  joinName,
  splitName,
  type Stored,
  replaceAfter,
  ownPayload,
  jsonBytes,
  withRetries,
  keptOf,
  toJsonTurn,
} from '../contexts.ts';
import { parseBoundedJson } from '../../base/bounded-json.ts';
import { isFields } from '../../base/fields.ts';
import { LineSplitter } from '../../base/json-lines.ts';
import { toStream } from '../../base/to-stream.ts';

// An answer while it is written: chunks in an open turn, a line of JSON each.
//
// Invariants
// - A reader gets a chunk when it is durable. All readers, in any process, get the same chunks in the same order.
// - An answer ends once: whole with its source, or cut off with a reason. Any process can cut it off.
// - Readers hold nothing up: a slow one, or one that goes away, changes nothing for the writer.

/** The reason of an answer that somebody stopped. */
const STOPPED = 'stopped';

type ChunkSource<C> = ReadableStream<C> | AsyncIterable<C>;

/** Writes chunks until their source or somebody ends the answer. Throws what made it fail; a stop is no failure. */
async function writeAnswer<C>(
  contexts: Contexts,
  open: OpenTurn,
  produce: (signal: AbortSignal) => ChunkSource<C> | Promise<ChunkSource<C>>,
): Promise<void> {
  const stopped = new AbortController();
  const { signal } = stopped;
  let isWritten = false;
  const watch = async (): Promise<void> => {
    const after = Number.MAX_SAFE_INTEGER;
    for await (const _ of contexts.followOpen(open.id, { after })) continue;
    if (!isWritten) stopped.abort(invalid('answer', 'was ended by somebody else'));
  };
  watch().catch(() => undefined);
  // A model may be silent for long when somebody ends its answer, and may not look at the signal.
  const ended = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error));
  });
  const write = async (): Promise<void> => {
    const source = await produce(signal);
    const chunks = source instanceof ReadableStream ? source : ReadableStream.from(source);
    const lines = new WritableStream<C>({
      write: (chunk) => open.write(`${JSON.stringify(chunk)}\n`),
    });
    await chunks.pipeTo(lines, { signal });
    isWritten = true;
  };
  try {
    await Promise.race([write(), ended]);
    await open.seal();
  } catch (error) {
    await open.abort('failed').catch(() => undefined);
    if ((await contexts.turn(open.id))?.reason !== STOPPED) throw error;
  }
}

export interface ChunkShape<C> {
  /** False for a stored value that is no chunk: readers pass it over. */
  readonly isChunk?: (value: object) => boolean;
  /** Makes the chunk that ends an answer that was cut off, for its readers. Nobody stores it. */
  readonly cutOff?: (reason: string) => C;
}

/** Gives the chunks from the first on, as they are asked for. The stream ends when `saved` does, and fails with it. */
function readAnswer<C>(
  contexts: Contexts,
  turn: TurnId,
  shape: ChunkShape<C>,
  saved?: Promise<void>,
): ReadableStream<C> {
  const gone = new AbortController();
  async function* read(): AsyncGenerator<C, void, undefined> {
    yield* readChunks(contexts.followOpen(turn, { signal: gone.signal }), shape);
    if (gone.signal.aborted) return;
    await saved;
    const { outcome, reason = outcome } = (await contexts.turn(turn)) ?? {};
    const last = reason === undefined ? undefined : shape.cutOff?.(reason);
    if (last !== undefined) yield last;
  }
  return toStream(read(), () => gone.abort());
}

/** Gives the chunks of whole lines. A line that is torn, no JSON or over the bounds of a value is passed over. */
async function* readChunks<C>(
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  { isChunk = () => true }: ChunkShape<C>,
): AsyncGenerator<C, void, undefined> {
  const lines = new LineSplitter(0, Infinity);
  for await (const piece of pieces) {
    for (const { bytes = new Uint8Array() } of lines.take(piece)) {
      let value: unknown;
      try {
        value = parseBoundedJson(Buffer.from(bytes).toString());
      } catch {
        continue;
      }
      if (isFields(value) && isChunk(value)) yield value as C;
    }
  }
}

// Conversations: lists of messages with branches, and answers that are written chunk by chunk.
//
// Invariants
// - A conversation is a context, with a turn for each message. Each branch that it has left is a context beside it.
// - What a call drops is kept as a branch, in the commit that drops it. Only an answer in a later state leaves none.
// - One answer is written at a time, and no message is stored meanwhile: other writers get LOCKED.
// - An answer is its chunks until it has ended. Then its message takes their place, with the same parent. Readers make
//   the message of the chunks that are there, so a crash at any point loses no durable chunk.

const MAIN = 'main';
/** A little less than the store takes. */
const MESSAGE_BYTES_MAX = 67_000_000;

/** A message is any JSON with an id and a role. Those with the role 'assistant' are answers. */
export interface Message {
  readonly id: string;
  readonly role: string;
}

/** What messages and chunks are. Both are JSON, and a chunk is an object. */
export interface ConversationShape<M extends Message, C extends object> extends ChunkShape<C> {
  /**
   * Makes a message of the chunks of an answer, also of one that was cut off. An answer with the id of `before` goes on
   * with that message. Undefined when the chunks make no message. Every reader calls this, so it gives each of them the
   * same and does not throw.
   */
  readonly fold: (chunks: C[], before: M | undefined) => M | undefined | Promise<M | undefined>;
  /** False for a stored value that is no message: readers pass it over. */
  readonly isMessage?: (value: object) => boolean;
  /** The kind of the contexts. Default: 'conversation'. */
  readonly kind?: string;
  /** Begins the names of the contexts. Default: the kind. */
  readonly prefix?: string;
  /** Begins the types of the turns, such as `conversation.message`. Default: the kind. */
  readonly type?: string;
}

/** An answer that this process writes. */
export interface Answer<C> {
  /** The chunks as they become durable. Ends when the message is durable. A reader may leave: that ends nothing. */
  readonly chunks: ReadableStream<C>;
  /** Resolves when the message is durable. Rejects with what made the answer fail; a stop is no failure. */
  readonly saved: Promise<void>;
}

/** Keeps conversations of JSON messages, with branches and streamed answers, in the contexts of a store. */
export class Conversations<M extends Message, C extends object> {
  readonly #store: Store;
  readonly #shape: ConversationShape<M, C>;
  readonly #kind: string;
  readonly #prefix: string;
  readonly #message: string;
  readonly #stream: string;

  constructor(store: Store, shape: ConversationShape<M, C>) {
    const { kind = 'conversation', prefix = kind, type = kind } = shape;
    this.#store = store;
    this.#shape = shape;
    this.#kind = kind;
    this.#prefix = prefix;
    this.#message = `${type}.message`;
    this.#stream = `${type}.stream`;
  }

  /** Returns the messages, none for a new conversation. An answer that was cut off is the last, as far as it came. */
  async load(id: string): Promise<M[]> {
    return this.#messages((await this.#main(id))?.head);
  }

  /**
   * Makes these the messages. Those that are there already stay as they are. What is not in the list any more is kept
   * as a branch. LOCKED while an answer is written.
   */
  async save(id: string, messages: readonly M[]): Promise<void> {
    await this.#begin(id);
    await this.#rewrite(id, () => messages);
  }

  /** Drops a message and all after it, to answer again or to edit it. They are kept as a branch. Returns the rest. */
  async rewind(id: string, messageId: string): Promise<M[]> {
    const left = await this.#rewrite(id, (messages) => {
      const at = messages.findIndex((message) => message.id === messageId);
      if (at === -1) throw notFound('message', messageId, `${id} has no such message`);
      return messages.slice(0, at);
    });
    return left.messages;
  }

  /**
   * Begins an answer, and writes the chunks that `produce` gives. Their message takes their place when they end. LOCKED
   * while another answer is written. `before` is the last message, which the answer follows or goes on with. `signal`
   * aborts when somebody stops the answer, in whatever process.
   */
  async answer(
    id: string,
    produce: (start: {
      readonly before: M | undefined;
      readonly signal: AbortSignal;
    }) => ChunkSource<C> | Promise<ChunkSource<C>>,
  ): Promise<Answer<C>> {
    const { contexts } = this.#store;
    const context = await this.#begin(id);
    const { before, open } = await withRetries(async () => {
      const { messages, head } = await this.#rewrite(id);
      const turn = { type: this.#stream, encoding: 'bytes' } as const;
      // Nobody stores a message between the last one and the answer to it.
      return {
        before: messages.at(-1),
        open: await contexts.open(context.id, turn, { expectedHead: head }),
      };
    });
    const write = async (): Promise<void> => {
      try {
        await writeAnswer(contexts, open, (signal) => produce({ before, signal }));
      } finally {
        await this.#rewrite(id);
      }
    };
    const saved = write();
    // The readers of `chunks` are told of a failure, too.
    saved.catch(() => undefined);
    return { chunks: readAnswer(contexts, open.id, this.#shape, saved), saved };
  }

  /**
   * Returns the answer that is being written, from its first chunk on, whichever process writes it. If that process
   * died, returns what it stored. Null if there is neither.
   */
  async resume(id: string): Promise<ReadableStream<C> | null> {
    const { contexts } = this.#store;
    const { head = NO_TURN, openTurn = NO_TURN } = (await this.#main(id)) ?? {};
    const last = openTurn === NO_TURN ? head : openTurn;
    const turn = last === NO_TURN ? undefined : await contexts.turn(last, { payload: false });
    const isWhole = turn?.state === 'sealed' && turn.outcome === undefined;
    if (turn?.type !== this.#stream || isWhole) return null;
    return readAnswer(contexts, last, this.#shape);
  }

  /** Ends the answer that is being written, whichever process writes it. What has come is the message. */
  async stop(id: string): Promise<void> {
    const { openTurn = NO_TURN } = (await this.#main(id)) ?? {};
    if (openTurn === NO_TURN) return;
    // INVALID: it has ended meanwhile.
    await orNothing(() => this.#store.contexts.abort(openTurn, STOPPED), 'INVALID');
    await this.#rewrite(id);
  }

  /** Returns the branches that the conversation has left, from older to newer. */
  async branches(id: string): Promise<{ id: string; messages: M[] }[]> {
    const branches: { id: string; messages: M[] }[] = [];
    for (const { name, head } of await contextsUnder(this.#store, this.#prefix, id)) {
      const branch = splitName(name).at(-1) ?? '';
      if (branch !== MAIN) branches.push({ id: branch, messages: await this.#messages(head) });
    }
    return branches;
  }

  /** Goes back to a branch. The messages of now are a branch from then on. */
  async switchTo(id: string, branchId: string): Promise<M[]> {
    const branch = await this.#store.contexts.byName(this.#nameOf(id, branchId));
    const main = await this.#main(id);
    if (branch === undefined || main === undefined || branchId === MAIN)
      throw notFound('branch', branchId, `${id} has no such branch`);
    const to = { parent: branch.head, ...this.#kept(id) };
    await replaceAfter(this.#store, main, [], to);
    await this.#store.contexts.remove(branch.id);
    return this.#messages(branch.head);
  }

  /** Removes a conversation with all its branches. Ends the answer that is being written. */
  async remove(id: string): Promise<void> {
    await this.stop(id);
    for (const context of await contextsUnder(this.#store, this.#prefix, id)) {
      await this.#store.contexts.remove(context.id);
    }
  }

  #nameOf(id: string, branch: string): string {
    if (typeof id !== 'string' || id === '') throw invalid('id', 'is missing');
    return joinName(this.#prefix, id, branch);
  }

  #main(id: string): Promise<Context | undefined> {
    return this.#store.contexts.byName(this.#nameOf(id, MAIN));
  }

  /** Returns the conversation, which may be a new one. */
  #begin(id: string): Promise<Context> {
    return this.#store.contexts.getOrCreate(this.#nameOf(id, MAIN), { kind: this.#kind });
  }

  /** Makes a branch of the messages that a commit leaves. */
  #kept(id: string): Pick<AppendOptions, 'keepHead'> {
    const name = this.#nameOf(id, randomBytes(12).toString('base64url'));
    return { keepHead: { name, kind: this.#kind } };
  }

  async #messages(head?: TurnId): Promise<M[]> {
    return (await this.#stored(head)).map(({ payload }) => payload);
  }

  async #stored(head: TurnId = NO_TURN): Promise<Stored<M>[]> {
    const { isMessage = () => true, fold } = this.#shape;
    const stored: Stored<M>[] = [];
    if (head === NO_TURN) return stored;
    for await (const turn of this.#store.contexts.chain(head)) {
      const message = ownPayload(turn, this.#message);
      if (message !== undefined && isMessage(message))
        stored.push({ id: turn.id, payload: message as M });
      if (turn.type !== this.#stream || turn.bytes === undefined) continue;
      const chunks: C[] = [];
      for await (const chunk of readChunks([turn.bytes], this.#shape)) chunks.push(chunk);
      const before = stored.at(-1)?.payload;
      const answer = await fold(chunks, before);
      if (answer === undefined) continue;
      if (answer.id === before?.id && isAnswer(before)) stored.pop();
      // The conversation must go on, whatever came: an answer that is too large stays as its chunks.
      const isLarge = jsonBytes(answer) > MESSAGE_BYTES_MAX;
      stored.push({ id: isLarge ? turn.id : undefined, payload: answer });
    }
    return stored;
  }

  /** Changes the messages, and stores an answer of which the chunks alone are there. Returns them with their head. */
  async #rewrite(
    id: string,
    change: (messages: readonly M[]) => readonly M[] = (messages) => messages,
  ): Promise<{ readonly messages: M[]; readonly head: TurnId }> {
    return withRetries(async () => {
      const context = await this.#main(id);
      const stored = await this.#stored(context?.head);
      const messages = change(stored.map(({ payload }) => payload));
      if (context === undefined) return { messages: [], head: NO_TURN };
      const { keep, parent } = keptOf(context.head, stored, messages);
      const isGone = stored.slice(keep).some(({ payload: old }) => {
        return !isAnswer(old) || messages.every((message) => message.id !== old.id);
      });
      const added = messages.slice(keep).map((one) => toJsonTurn(this.#message, one));
      const to = { parent, ...(isGone && this.#kept(id)) };
      const head = await replaceAfter(this.#store, context, added, to);
      return { messages: [...messages], head };
    });
  }
}

function isAnswer({ role }: Message): boolean {
  return role === 'assistant';
}
