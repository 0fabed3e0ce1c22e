/** Limits the requests in progress on a connection, and their bytes; other requests wait in line. */
export class RequestSlots {
  readonly #most: { readonly requests: number; readonly bytes: number };
  readonly #line: (() => void)[] = [];
  #requests = 0;
  #bytes = 0;

  constructor(most: { readonly requests: number; readonly bytes: number }) {
    this.#most = most;
  }

  /** Undefined when there is room now. Trusts the caller to `leave` with the same bytes. */
  enter(bytes: number): Promise<void> | undefined {
    if (this.#line.length === 0 && this.#hasRoom(bytes)) {
      this.#add(bytes);
      return undefined;
    }
    return new Promise((resolve) => {
      this.#line.push(() => {
        this.#add(bytes);
        resolve();
      });
    });
  }

  leave(bytes: number): void {
    this.#requests -= 1;
    this.#bytes -= bytes;
    // The next request may be large, and is admitted as soon as there is any room at all.
    while (this.#line.length > 0 && this.#hasRoom(0)) this.#line.shift()?.();
  }

  /** A single request always fits. */
  #hasRoom(bytes: number): boolean {
    if (this.#requests === 0) return true;
    return this.#requests < this.#most.requests && this.#bytes + bytes <= this.#most.bytes;
  }

  #add(bytes: number): void {
    this.#requests += 1;
    this.#bytes += bytes;
  }
}
