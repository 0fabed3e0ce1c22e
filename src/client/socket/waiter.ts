/** Whoever waits for the reply to a request. One of the two is called, once. */
export interface Waiter {
  /** With the payload of the reply. */
  answer(payload: Buffer): void;
  fail(error: unknown): void;
}
