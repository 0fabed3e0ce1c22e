/**
 * For `vi.waitFor` and `expect.poll`, which give up after a second. The awaited event comes within milliseconds, or
 * never. The limit only tells the two apart, also on a machine that stands still for a while.
 */
export const PATIENCE: { readonly timeout: number } = { timeout: 15_000 };
