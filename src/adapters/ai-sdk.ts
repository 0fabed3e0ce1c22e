import { generateId } from 'ai';
import type { UIMessage, UIMessageChunk } from 'ai';
import { NO_TURN, type TurnId } from '../base/brand.ts';
import { invalid, notFound, orNothing } from '../base/errors.ts';
import { toStream } from '../base/to-stream.ts';
import type { Context } from '../context/context.ts';
import type { AppendOptions, OpenTurn } from '../context/contexts.ts';
import type { Store } from '../store/store.ts';
import { jsonBytes, named, readChunks, toAnswer } from './ai-sdk-chunks.ts';
import { contextsUnder, joinName, splitName } from '../agents/names.ts';
import * as turns from '../agents/turns.ts';

const MESSAGE = 'ai.message';
/** The chunks of an answer, a line of JSON each. The message takes its place when the answer has ended. */
const STREAM = 'ai.stream';
const KIND = 'ai-sdk';
const MAIN = 'main';
const STOPPED = 'stopped';
/** A little less than the store takes. */
const MESSAGE_BYTES_MAX = 67_000_000;

/** Keeps the chats of the AI SDK: a context for each, a turn for each message, and a context for each branch left. */
export class QuipuChats<M extends UIMessage = UIMessage> {
  readonly #store: Store;
  readonly #prefix: string;
  readonly #waitUntil: (saved: Promise<void>) => void;

  /**
   * `prefix` begins the names of the contexts, by default 'ai-sdk'. `waitUntil` gets the promise that an answer is
   * saved: pass the function of your platform that keeps a process alive after it has replied.
   */
  constructor(
    store: Store,
    options: { prefix?: string; waitUntil?: (saved: Promise<unknown>) => void } = {},
  ) {
    this.#store = store;
    this.#prefix = options.prefix ?? KIND;
    this.#waitUntil = options.waitUntil ?? (() => undefined);
  }

  /** Returns the messages of a chat, none for a new one. An answer that was cut off is the last of them, as far as it came. */
  async load(chatId: string): Promise<M[]> {
    return this.#messages((await this.#main(chatId))?.head);
  }

  /**
   * Makes these the messages of the chat. Messages that are there already stay as they are. Messages that are not in
   * the list any more are kept as a branch. LOCKED while an answer is streamed.
   */
  async save(chatId: string, messages: readonly M[]): Promise<void> {
    await this.#begin(chatId);
    await this.#rewrite(chatId, () => messages);
  }

  /** Drops a message and all after it, to generate it again or to edit it. They are kept as a branch. Returns the rest. */
  async rewind(chatId: string, messageId: string): Promise<M[]> {
    return this.#rewrite(chatId, (messages) => {
      const at = messages.findIndex(({ id }) => id === messageId);
      if (at === -1) throw notFound('message', messageId, `chat ${chatId} has no such message`);
      return messages.slice(0, at);
    });
  }

  /**
   * Stores the chunks of an answer, sends what is durable to the client, and stores the message at the end. Then the
   * returned stream ends. A client that goes away ends nothing: `resume` gives the stream again. LOCKED while another
   * answer is streamed.
   */
  async stream<C extends UIMessageChunk>(
    chatId: string,
    chunks: ReadableStream<C>,
  ): Promise<ReadableStream<C>> {
    if (typeof chunks?.pipeThrough !== 'function' || chunks.locked)
      throw invalid('chunks', 'must be a stream that nobody reads yet');
    const { id } = await this.#begin(chatId);
    const last = (await this.#rewrite(chatId)).at(-1);
    const open = await this.#store.contexts.open(id, { type: STREAM, encoding: 'bytes' });
    const answerId = last?.role === 'assistant' ? last.id : generateId();
    const saved = this.#write(chatId, open, chunks.pipeThrough(named(answerId)));
    // The client is told of what went wrong, and so is `waitUntil`.
    saved.catch(() => undefined);
    this.#waitUntil(saved);
    return this.#replay(open.id, saved) as ReadableStream<C>;
  }

  /**
   * Returns the answer that is being streamed, from its first chunk on, also when another process writes it. If the
   * process of an answer died, returns what was stored of it, and an `abort` chunk. Null if there is neither.
   */
  async resume(chatId: string): Promise<ReadableStream<UIMessageChunk> | null> {
    const { head, openTurn } = (await this.#main(chatId)) ?? {};
    const id = openTurn === NO_TURN ? head : openTurn;
    if (id === undefined || id === NO_TURN) return null;
    const turn = await this.#store.contexts.turn(id, { payload: false });
    const isWhole = turn?.state === 'sealed' && turn.outcome === undefined;
    return turn?.type === STREAM && !isWhole ? this.#replay(id) : null;
  }

  /** Ends the answer that is being streamed, whichever process writes it. What has come is the message. */
  async stop(chatId: string): Promise<void> {
    const { openTurn = NO_TURN } = (await this.#main(chatId)) ?? {};
    if (openTurn === NO_TURN) return;
    // INVALID: it has ended meanwhile.
    await orNothing(() => this.#store.contexts.abort(openTurn, STOPPED), 'INVALID');
    await this.#rewrite(chatId);
  }

  /** Returns the branches that the chat has left, from older to newer. */
  async branches(chatId: string): Promise<{ id: string; messages: M[] }[]> {
    const branches: { id: string; messages: M[] }[] = [];
    for (const { name, head } of await contextsUnder(this.#store, this.#prefix, chatId)) {
      const id = splitName(name).at(-1) ?? '';
      if (id !== MAIN) branches.push({ id, messages: await this.#messages(head) });
    }
    return branches;
  }

  /** Goes back to a branch. The messages of now are a branch from then on. */
  async switchTo(chatId: string, branchId: string): Promise<M[]> {
    const branch = await this.#store.contexts.byName(this.#nameOf(chatId, branchId));
    const main = await this.#main(chatId);
    if (branch === undefined || main === undefined || branchId === MAIN)
      throw notFound('branch', branchId, `chat ${chatId} has no such branch`);
    const to = { parent: branch.head, ...this.#kept(chatId) };
    await turns.replaceAfter(this.#store, main, [], to);
    await this.#store.contexts.remove(branch.id);
    return this.#messages(branch.head);
  }

  /** Removes a chat with all its branches. Ends the answer that is being streamed. */
  async remove(chatId: string): Promise<void> {
    await this.stop(chatId);
    for (const { id } of await contextsUnder(this.#store, this.#prefix, chatId)) {
      await this.#store.contexts.remove(id);
    }
  }

  #nameOf(chatId: string, branch: string): string {
    if (typeof chatId !== 'string' || chatId === '') throw invalid('chatId', 'is missing');
    return joinName(this.#prefix, chatId, branch);
  }

  #main(chatId: string): Promise<Context | undefined> {
    return this.#store.contexts.byName(this.#nameOf(chatId, MAIN));
  }

  /** Returns the chat, which may be a new one. */
  #begin(chatId: string): Promise<Context> {
    return this.#store.contexts.getOrCreate(this.#nameOf(chatId, MAIN), { kind: KIND });
  }

  /** Makes a branch of the messages that a commit leaves. */
  #kept(chatId: string): Pick<AppendOptions, 'keepHead'> {
    return { keepHead: { name: this.#nameOf(chatId, generateId()), kind: KIND } };
  }

  async #messages(head?: TurnId): Promise<M[]> {
    return (await this.#stored(head)).map(({ payload }) => payload);
  }

  async #stored(head: TurnId = NO_TURN): Promise<turns.Stored<M>[]> {
    const stored: turns.Stored<M>[] = [];
    if (head === NO_TURN) return stored;
    for await (const turn of this.#store.contexts.chain(head)) {
      const { id, type } = turn;
      const payload = turn.payload as M | null | undefined;
      // A message that was erased is left out, as are turns of others.
      if (type === MESSAGE && Array.isArray(payload?.parts)) stored.push({ id, payload });
      if (type !== STREAM || turn.bytes === undefined) continue;
      const last = stored.at(-1)?.payload;
      const answer = await toAnswer(turn.bytes, last);
      if (answer === undefined) continue;
      if (answer.id === last?.id && last.role === 'assistant') stored.pop();
      // The chat must go on, whatever a tool has answered: an answer that is too large stays as its chunks.
      const isLarge = jsonBytes(answer) > MESSAGE_BYTES_MAX;
      stored.push({ id: isLarge ? id : undefined, payload: answer });
    }
    return stored;
  }

  /** Changes the messages of a chat, and stores an answer of which the chunks alone are there. */
  async #rewrite(
    chatId: string,
    change: (messages: readonly M[]) => readonly M[] = (messages) => messages,
  ): Promise<M[]> {
    return turns.withRetries(async () => {
      const context = await this.#main(chatId);
      const stored = await this.#stored(context?.head);
      const messages = change(stored.map(({ payload }) => payload));
      if (context === undefined) return [];
      const { head } = context;
      const { keep, parent } = turns.keptOf(head, stored, messages);
      // An answer that is in the list in a later state leaves no branch.
      const isGone = stored.slice(keep).some(({ payload: { id: old, role } }) => {
        return role !== 'assistant' || messages.every((message) => message.id !== old);
      });
      const added = messages.slice(keep).map((message) => turns.toJsonTurn(MESSAGE, message));
      const to = { parent, ...(isGone && this.#kept(chatId)) };
      await turns.replaceAfter(this.#store, context, added, to);
      return [...messages];
    });
  }

  /** Writes the chunks into the turn, until they end or somebody stops it, and then the message. */
  async #write(
    chatId: string,
    open: OpenTurn,
    chunks: ReadableStream<UIMessageChunk>,
  ): Promise<void> {
    const { contexts } = this.#store;
    const ended = new AbortController();
    // A model may be silent for long when somebody stops it.
    const watch = async (): Promise<void> => {
      const after = Number.MAX_SAFE_INTEGER;
      for await (const _ of contexts.followOpen(open.id, { after })) continue;
      ended.abort(invalid('answer', 'was ended by somebody else'));
    };
    watch().catch(() => undefined);
    const lines = new WritableStream<UIMessageChunk>({
      write: (chunk) => open.write(`${JSON.stringify(chunk)}\n`),
    });
    try {
      await chunks.pipeTo(lines, { signal: ended.signal });
      await open.seal();
    } catch (error) {
      await open.abort('failed').catch(() => undefined);
      if ((await contexts.turn(open.id))?.reason !== STOPPED) throw error;
    } finally {
      await this.#rewrite(chatId);
    }
  }

  /** Gives the chunks when they are asked for, so a client that does not read them costs nothing. */
  #replay(turn: TurnId, saved?: Promise<void>): ReadableStream<UIMessageChunk> {
    const { contexts } = this.#store;
    const gone = new AbortController();
    async function* replay(): AsyncGenerator<UIMessageChunk, void, undefined> {
      yield* readChunks(contexts.followOpen(turn, { signal: gone.signal }));
      if (gone.signal.aborted) return;
      await saved;
      const { outcome, reason = outcome } = (await contexts.turn(turn)) ?? {};
      if (reason !== undefined) yield { type: 'abort', reason };
    }
    return toStream(replay(), () => gone.abort());
  }
}
