/** Yields page after page of a listing: each is asked for with the cursor of the one before. The last has none. */
export async function* eachPage<P extends { readonly cursor?: string }>(
  read: (after: { readonly cursor?: string }) => Promise<P>,
): AsyncGenerator<P, void, undefined> {
  for (let after: { readonly cursor?: string } = {}; ;) {
    const page = await read(after);
    yield page;
    if (page.cursor === undefined) return;
    after = { cursor: page.cursor };
  }
}
