/** Remembers how its source failed, because the transport's error for a body that breaks off says less. */
export class UploadSource implements AsyncIterable<Uint8Array> {
  readonly #chunks: AsyncIterable<Uint8Array>;
  #failure: { readonly error: unknown } | undefined;

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      for await (const chunk of this.#chunks) yield chunk;
    } catch (error) {
      this.#failure = { error };
      throw error;
    }
  }

  /** Throws the failure of the source, if that is why the upload failed, else `error`. */
  explain(error: unknown): never {
    throw (this.#failure === undefined ? error : this.#failure.error) as Error;
  }
}
