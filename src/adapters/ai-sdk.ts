import { generateId } from 'ai';
import type { UIMessage, UIMessageChunk } from 'ai';
import { Conversations } from '../agents/conversations/conversations.ts';
import { invalid } from '../base/errors.ts';
import type { Store } from '../store/store.ts';
import { named, toAnswer } from './ai-sdk-chunks.ts';

const KIND = 'ai-sdk';

/** Keeps the chats of the AI SDK: a context for each, a turn for each message, and a context for each branch left. */
export class QuipuChats<M extends UIMessage = UIMessage> extends Conversations<M, UIMessageChunk> {
  readonly #waitUntil: (saved: Promise<void>) => void;

  /**
   * `prefix` begins the names of the contexts, by default 'ai-sdk'. `waitUntil` gets the promise that an answer is
   * saved: pass the function of your platform that keeps a process alive after it has replied.
   */
  constructor(
    store: Store,
    options: { prefix?: string; waitUntil?: (saved: Promise<unknown>) => void } = {},
  ) {
    super(store, {
      kind: KIND,
      prefix: options.prefix ?? KIND,
      type: 'ai',
      isMessage: (value) => Array.isArray((value as Partial<M>).parts),
      isChunk: (value) => typeof (value as Partial<UIMessageChunk>).type === 'string',
      fold: toAnswer,
      cutOff: (reason) => ({ type: 'abort', reason }),
    });
    this.#waitUntil = options.waitUntil ?? (() => undefined);
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
    const answer = await this.answer(chatId, ({ before }) => {
      const id = before?.role === 'assistant' ? before.id : generateId();
      return chunks.pipeThrough<UIMessageChunk>(named(id));
    });
    this.#waitUntil(answer.saved);
    return answer.chunks as ReadableStream<C>;
  }
}
