import { isDeepStrictEqual } from 'node:util';
import { generateId } from 'ai';
import type { UIMessage, UIMessageChunk } from 'ai';
import { NO_TURN, type ContextId, type TurnId } from '../base/brand.ts';
import { invalid, notFound } from '../base/errors.ts';
import type { Context } from '../context/context.ts';
import type { OpenTurn } from '../context/contexts.ts';
import type { Store } from '../store/store.ts';
import { ChunkLines, toAnswer, toLine } from './ai-sdk-chunks.ts';
import {
  contextsUnder,
  joinName,
  replaceAfter,
  splitName,
  toJsonTurn,
  withRetries,
} from './shared.ts';

const MESSAGE = 'ai.message';
/** The chunks of an answer, a line of JSON each. The message takes its place when the answer has ended. */
const STREAM = 'ai.stream';
const KIND = 'ai-sdk';
const MAIN = 'main';
const STOP_TRIES_MAX = 1000;

/** A message on the way to the head. `turn` is undefined for one that is there as chunks only. */
interface Step<M> {
  readonly turn: TurnId | undefined;
  readonly message: M;
}

/** Keeps the chats of the AI SDK: a context for each, a turn for each message, and a context for each branch left. */
export class QuipuChats<M extends UIMessage = UIMessage> {
  readonly #store: Store;
  readonly #prefix: string;
  readonly #waitUntil: (saved: Promise<unknown>) => void;

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
   * Stores the chunks of an answer while they go to the client, and the message when they end. The returned stream ends
   * when the message is durable. A client that goes away ends nothing: `resume` gives the stream again. LOCKED while
   * another answer is streamed.
   */
  async stream<C extends UIMessageChunk>(
    chatId: string,
    chunks: ReadableStream<C>,
  ): Promise<ReadableStream<C>> {
    const last = (await this.#rewrite(chatId)).at(-1);
    const { id, head } = await this.#store.contexts.getOrCreate(this.#nameOf(chatId, MAIN));
    const answerId = last?.role === 'assistant' ? last.id : generateId();
    const open = await this.#store.contexts.open(id, { type: STREAM, encoding: 'bytes' });
    const reader = chunks.getReader();
    // A model may be silent for long when somebody stops it.
    void this.#untilSealed(id, head, open.id)
      .then(() => reader.cancel('stopped'))
      .catch(() => undefined);
    let client: ReadableStreamDefaultController<C> | undefined;
    const sent = new ReadableStream<C>({
      start: (controller) => void (client = controller),
      cancel: () => void (client = undefined),
    });
    const saved = (async () => {
      try {
        await this.#pump(open, reader, (chunk) => client?.enqueue(chunk), answerId);
      } finally {
        await this.#rewrite(chatId);
      }
      client?.close();
    })();
    // The client is told of what went wrong, and so is `waitUntil`.
    saved.catch((error: unknown) => client?.error(error));
    this.#waitUntil(saved);
    return sent;
  }

  /**
   * Returns the answer that is being streamed, from its first chunk on, also when another process writes it. If the
   * process of an answer died, returns what was stored of it, and an `abort` chunk. Null if there is neither.
   */
  async resume(chatId: string): Promise<ReadableStream<UIMessageChunk> | null> {
    const context = await this.#main(chatId);
    const turn = context?.openTurn === NO_TURN ? context.head : context?.openTurn;
    if (turn === undefined || turn === NO_TURN) return null;
    if ((await this.#store.contexts.turn(turn, { payload: false }))?.type !== STREAM) return null;
    const stop = new AbortController();
    const chunks = this.#replay(turn, stop.signal);
    return new ReadableStream<UIMessageChunk>({
      async pull(controller) {
        const { done, value } = await chunks.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      cancel: () => stop.abort(),
    });
  }

  /** Ends the answer that is being streamed, whichever process writes it. What has come is the message. */
  async stop(chatId: string): Promise<void> {
    const context = await this.#main(chatId);
    if (context === undefined || context.openTurn === NO_TURN) return;
    const { openTurn } = context;
    // A chunk that arrives in between wins. Then the next try is for a longer answer.
    await withRetries(
      async () => {
        try {
          await (await this.#store.contexts.resume(openTurn)).abort('stopped');
        } catch (error) {
          const turn = await this.#store.contexts.turn(openTurn, { payload: false });
          if (turn?.state === 'open') throw error;
        }
      },
      undefined,
      STOP_TRIES_MAX,
    );
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
    await this.#keepBranch(chatId, main.head);
    await this.#store.contexts.moveHead(main.id, branch.head, { expectedHead: main.head });
    await this.#store.contexts.remove(branch.id);
    return this.load(chatId);
  }

  /** Removes a chat with all its branches. */
  async remove(chatId: string): Promise<void> {
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

  async #messages(head: TurnId = NO_TURN): Promise<M[]> {
    return (await this.#path(head)).map(({ message }) => message);
  }

  async #path(head: TurnId): Promise<Step<M>[]> {
    const steps: Step<M>[] = [];
    if (head === NO_TURN) return steps;
    for await (const { id, type, payload } of this.#store.contexts.chain(head)) {
      // A message that was erased is left out, as are turns of others.
      if (payload === undefined) continue;
      if (type === MESSAGE) steps.push({ turn: id, message: payload as M });
      if (type !== STREAM) continue;
      const last = steps.at(-1)?.message;
      const message = await toAnswer(payload as Uint8Array, last);
      if (message === undefined) continue;
      if (message.id === last?.id && last.role === 'assistant') steps.pop();
      steps.push({ turn: undefined, message });
    }
    return steps;
  }

  /** Changes the messages of a chat, and stores an answer of which the chunks alone are there. */
  async #rewrite(
    chatId: string,
    change: (messages: readonly M[]) => readonly M[] = (messages) => messages,
  ): Promise<M[]> {
    const name = this.#nameOf(chatId, MAIN);
    return withRetries(async () => {
      const { id, head } = await this.#store.contexts.getOrCreate(name, { kind: KIND });
      const steps = await this.#path(head);
      const messages = change(steps.map(({ message }) => message));
      const firstNew = messages.findIndex((message, at) => !isStored(steps[at], message));
      const keep = firstNew === -1 ? messages.length : firstNew;
      const gone = steps.slice(keep).some(({ message }) => !isAnswerOf(messages, message));
      if (gone) await this.#keepBranch(chatId, head);
      // What others have appended behind the last message stays before the next one.
      const parent = keep === steps.length ? head : (steps[keep - 1]?.turn ?? NO_TURN);
      const turns = messages.slice(keep).map((message) => toJsonTurn(MESSAGE, message));
      await replaceAfter(this.#store, { id, head }, parent, turns);
      return [...messages];
    });
  }

  async #keepBranch(chatId: string, head: TurnId): Promise<void> {
    const name = this.#nameOf(chatId, String(head));
    if (head !== NO_TURN) await this.#store.contexts.getOrCreate(name, { kind: KIND, base: head });
  }

  /** Writes the chunks into the turn. That somebody stopped it is no error. */
  async #pump<C extends UIMessageChunk>(
    open: OpenTurn,
    reader: ReadableStreamDefaultReader<C>,
    send: (chunk: C) => void,
    answerId: string,
  ): Promise<void> {
    const keep = async (chunk: C): Promise<void> => {
      await open.write(toLine(chunk));
      send(chunk);
    };
    try {
      let isNamed = false;
      for (let next = await reader.read(); !next.done; next = await reader.read()) {
        const { value } = next;
        const isNameless = value.type === 'start' ? value.messageId === undefined : !isNamed;
        // An answer has an id, also when its chunks do not begin with one.
        const start = { ...(value.type === 'start' && value), type: 'start', messageId: answerId };
        if (isNameless) await keep(start as C);
        if (!isNameless || value.type !== 'start') await keep(value);
        isNamed = true;
      }
      await open.seal();
    } catch (error) {
      void reader.cancel(error).catch(() => undefined);
      const turn = await this.#store.contexts.turn(open.id, { payload: false });
      if (turn?.state === 'open') await open.abort(String(error).slice(0, 1000));
      if (turn?.state === 'open' || turn?.outcome !== 'aborted') throw error;
      send({ type: 'abort', reason: 'stopped' } as C);
    }
  }

  /** Resolves when the open turn is sealed. Turns that came before it are passed over. */
  async #untilSealed(context: ContextId, head: TurnId, open: TurnId): Promise<void> {
    const after = head === NO_TURN ? {} : { after: head };
    for await (const { id } of this.#store.contexts.follow(context, { ...after, payload: false })) {
      if (id >= open) return;
    }
  }

  async *#replay(
    turn: TurnId,
    signal: AbortSignal,
  ): AsyncGenerator<UIMessageChunk, void, undefined> {
    const lines = new ChunkLines();
    for await (const bytes of this.#store.contexts.followOpen(turn, { signal })) {
      yield* lines.take(bytes);
    }
    const ended = await this.#store.contexts.turn(turn);
    if (ended?.outcome !== undefined)
      yield { type: 'abort', reason: ended.reason ?? ended.outcome };
  }
}

/** Compares what JSON makes of them. Keys may be in another order. */
function isStored<M>(step: Step<M> | undefined, message: M): boolean {
  if (step?.turn === undefined || step.message === message) return step?.turn !== undefined;
  return isDeepStrictEqual(step.message, JSON.parse(JSON.stringify(message)));
}

/** True if the list has this answer, perhaps in a later state. Such a message leaves no branch. */
function isAnswerOf(messages: readonly UIMessage[], { id, role }: UIMessage): boolean {
  return role === 'assistant' && messages.some((message) => message.id === id);
}
