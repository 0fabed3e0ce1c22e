/** A frame by what it says. */
export interface Example {
  /** Its name in `messages.ts`. */
  readonly message: string;
  readonly req: bigint;
  readonly value: unknown;
}

export function example(message: string, req: bigint, value: unknown): Example {
  return { message, req, value };
}
