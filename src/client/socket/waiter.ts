/** Waits for the reply to a request. One of the two methods is called, once. */
export interface Waiter {
  /** Takes the payload of the reply. */
  answer(payload: Buffer): void;
  fail(error: unknown): void;
}
